// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// A report in ten seconds: which app hung, on what, for how long, whose fault it is, what to do, and how certain that
/// is.
public struct Explanation: Equatable, Sendable {
    /// A call, as shown to the reader.
    public struct Call: Equatable, Sendable, Encodable {
        /// The position on the stack.
        public let number: Int
        /// The function, or else the image and offset.
        public let function: String
        /// The file and line.
        public let source: String?
        /// The name of the image.
        public let image: String
        /// Whether the call is the app's own code.
        public let isApplication: Bool
        /// Whether the function has a name.
        let isNamed: Bool

        private enum CodingKeys: String, CodingKey { case number, function, source, image, isApplication }

        init(_ site: CallSite) {
            number = site.number
            function = site.name
            isNamed = site.function != nil
            source = site.source
            image = site.image
            isApplication = site.origin == .application
        }
    }

    /// Another thread that may be relevant.
    public struct OtherThread: Equatable, Sendable, Encodable {
        /// The index of the thread in the report.
        public let index: Int
        /// The name of the thread.
        public let name: String?
        /// Whether the verdict names the thread; otherwise it is listed because it runs the app's code.
        public let isNamed: Bool
        /// Whether it holds the lock for which the main thread waits, or is the thread whose end it waits for.
        public let isHolder: Bool
        /// What the thread does, in a few words.
        public let activity: String

        /// `Holder` and `Other` as in the whole report, `Also` for a thread that nothing names.
        var label: String { isHolder ? "Holder" : isNamed ? "Other" : "Also" }
    }

    /// A stack of one thread, or of several that have the same calls at other addresses.
    public struct Stack: Equatable, Sendable, Encodable {
        /// The indices of the threads in the report.
        public let threads: [Int]
        /// What they do, in a few words.
        public let activity: String
        /// The calls, innermost first.
        public let calls: [Call]

        init(_ group: StackGroup) {
            threads = group.all.map(\.index)
            activity = group.typical.activity
            calls = group.first.calls.map(Call.init)
        }
    }

    /// The incident's ID.
    public let incident: String
    /// The name of the app.
    public let app: String
    /// The process ID.
    public let pid: Int
    /// What the app was watched for.
    public let event: String
    /// When the report was taken.
    public let when: String
    /// What happened in a person's words, from the finding that says the most; nil where the verdict says as much.
    public let headline: String?
    /// Who does not move and why, in a person's words, with the app's function:
    /// `Main thread waits for a file lock on /run/db in commit() (store.c:40)`; nil where ``headline`` is.
    public let culprit: String?
    /// Where the main thread's wait leads across processes, up to the one that does not move; nil if it leads to none.
    public let cause: String?
    /// What the main thread did, in the kernel's terms.
    public let verdict: String
    /// Which probes failed, or what the launch waited for.
    public let missed: MissedDetails?
    /// How much time the app had, and how much it took.
    public let allowance: String?
    /// Where the time of a launch that was not ready went, by the app's own marks.
    public let launch: String?
    /// The thread of ``innermost`` and ``calls``, if the faulting one only waits for its end: `thread 1 (java)`.
    public let joined: String?
    /// The goroutine of ``innermost`` and ``calls``, if it is the cause: `51 [IO wait, fd 7]`.
    public let goroutine: String?
    /// The innermost call, in which the thread blocks.
    public let innermost: Call?
    /// The app's calls that led there, innermost first; those without names only if none has one.
    public let calls: [Call]
    /// How many of the app's calls without names lie between ``innermost`` and ``calls``.
    public let unnamedCount: Int
    /// The calls without names that a person need not see: ``unnamedCount``, and ``innermost`` if it is one of them.
    var foldedCount: Int { isInnermostFolded ? unnamedCount + 1 : unnamedCount }
    /// What stands for calls without names: `3 calls without names`.
    static func unnamedCalls(_ count: Int) -> String {
        count.counted("call without a name", "calls without names")
    }
    /// Whether ``innermost`` has no name, while calls that led to it have.
    var isInnermostFolded: Bool {
        innermost.map { !$0.isNamed && $0.isApplication } == true && calls.first?.isNamed == true
    }
    /// Other threads that may be relevant.
    public let others: [OtherThread]
    /// Whose fault the incident is; nil when nothing went wrong.
    public let blame: Blame?
    /// What to do.
    public let advice: String
    /// What limits or supports the conclusion.
    public let confidence: [String]
    /// The signature.
    public let signature: Signature

    private let report: Report

    /// All stacks of the process, each once: first that of the faulting thread.
    public var stacks: [Stack] {
        let own = report.faultingStack.map { [StackGroup(first: $0)] } ?? []
        return (own + StackGroup.groups(of: report.stacks.filter { !$0.isFaulting })).map(Stack.init)
    }

    /// How many of the app's calls are listed.
    private static let callCount = 4
    private static let otherCount = 2

    /// Explains a report.
    public init(of report: Report) {
        self.report = report
        let body = report.body
        let stack = report.decidingStack
        incident = report.metadata.incidentID
        app = report.metadata.appName
        pid = body.pid
        event = report.event
        when = body.captureTime
        verdict = body.linux?.verdict.line ?? Self.ending(body)
        cause = body.linux?.trail?.line
        missed = body.linux?.missed
        let isCapture = body.linux?.kind == .capture
        allowance = Self.allowance(body.linux)
        launch = body.linux?.launch.flatMap { launch in
            let words = launch.isReady ? [] : [launch.slowStart, launch.spent].compactMap(\.self)
            return words.isEmpty ? nil : words.joined(separator: "; ")
        }
        joined = report.joinedThread?.title
        let goroutine = report.decidingGoroutine?.goroutine.words
        self.goroutine = goroutine
        // How the scheduler parks a goroutine says nothing.
        innermost = stack?.calls.first { goroutine == nil || $0.function?.hasPrefix("runtime.") != true }.map(Call.init)
        let named = stack?.named ?? []
        calls = named.prefix(Self.callCount).map(Call.init)
        // The innermost call is shown on its own.
        unnamedCount = stack?.decisive.count { $0.number > 0 && $0.number < named.first?.number ?? 0 } ?? 0
        others = Self.others(report, verdict: verdict)
        blame = isCapture ? nil : Blame(for: report)
        headline = Headline.text(of: report, fault: blame?.party)
        culprit = headline.map { Headline.culprit($0, of: report) }
        advice = Advice.paragraph(for: report, blame)
        confidence = Self.confidence(body, stack)
        signature = Signature(of: report)
    }

    /// The whole in one line, for lists and messages: ``culprit``, then what the kernel says.
    public var line: String {
        guard let culprit else { return verdict }
        let isWorker = culprit.hasPrefix("Worker ") && verdict.hasPrefix("Worker \(pid) ")
        let thread = isWorker ? "Worker \(pid) " : culprit.prefix { !$0.isWhitespace } + " thread "
        let rest = verdict.hasPrefix(thread) ? String(verdict.dropFirst(thread.count)) : verdict
        // "Main thread is stopped by a signal (state T)": the verdict says the same, and a little more.
        let deed = culprit.split(separator: " is ", maxSplits: 1).last.map(String.init) ?? culprit
        return rest.hasPrefix(deed) ? culprit + rest.dropFirst(deed.count) : "\(culprit) · \(rest)"
    }

    /// For a list, which reads only the first lines of reports: ``culprit``, then the verdict in a few words.
    static func line(_ metadata: ReportMetadata) -> String? {
        guard let linux = metadata.linux else { return nil }
        return linux.culprit.map { "\($0) · \(linux.verdict)" } ?? linux.verdict
    }

    /// How much time the app had, and how much it took; nil if no time ran.
    static func allowance(_ linux: LinuxDetails?) -> String? {
        guard let linux, linux.crash == nil, linux.kind != .capture else { return nil }
        return linux.allowance.sentence(linux.missed)
    }

    private static func ending(_ body: ReportBody) -> String {
        let signal = body.exception.signal.map { " (\($0))" } ?? ""
        let by = body.termination.map { " · \($0.namespace) \($0.indicator ?? $0.code.hexadecimal())" } ?? ""
        return "Ended by \(body.exception.type)\(signal)\(by)"
    }

    /// The threads that the verdict and the findings name, or else those that run the app's own code, runnable ones first.
    private static func others(_ report: Report, verdict: String) -> [OtherThread] {
        let isGo = report.decidingGoroutine != nil
        let shown = isGo ? nil : report.decidingStack?.index
        let others = report.stacks.filter { !$0.isFaulting && $0.index != shown }
        let deadlocks = report.body.linux?.findings?.filter { $0.kind == .javaDeadlock }.map(\.text) ?? []
        let words = ([verdict] + deadlocks + (report.body.linux?.notes ?? [])).joined(separator: " ")
        let numbers = Set(words.matches(of: #/\b(?:thread|tid) (\d+)/#).compactMap { Int($0.output.1) })
            .union(report.body.linux?.findings?.compactMap(\.thread) ?? [])
        let named = others.filter { stack in stack.id.map(numbers.contains) == true }
        let holder = report.body.linux?.waits?.first?.holder?.thread
        let own = others.filter { stack in stack.calls.contains { $0.origin == .application } }
        let running = own.filter { $0.details?.state == "R" } + own.filter { $0.details?.state != "R" }
        // The threads of a Go program that run nothing wait in its scheduler.
        return (named.isEmpty && !isGo ? running : named).prefix(otherCount).map { stack in
            OtherThread(
                index: stack.index, name: stack.name, isNamed: !named.isEmpty,
                isHolder: holder != nil && stack.id == holder, activity: stack.activity)
        }
    }

    private static func confidence(_ body: ReportBody, _ stack: ReportStack?) -> [String] {
        guard let linux = body.linux else {
            return ["watchdogd did not write this report: it has no evidence of the time before."]
        }
        var lines: [String] = []
        switch linux.capture?.method {
        case .ptrace: lines.append("All threads were stopped at one instant: the stacks are consistent.")
        case .procfsRegisters:
            let why = linux.capture?.methodReason.map { " (\($0))" } ?? ""
            let isComplete = body.threads.allSatisfy { !$0.frames.isEmpty }
            let missing = isComplete ? "" : ": those of running threads are missing"
            lines.append("Stacks were read without stopping the process\(why)\(missing).")
        case .procfs:
            let why = linux.capture?.methodReason.map { " (\($0))" } ?? ""
            lines.append("There are no stacks, only what the kernel reports for each thread\(why).")
        case .core: lines.append("The kernel recorded all stacks when the signal came: they are consistent.")
        case .journal: lines.append("The stacks come from systemd-coredump, which read them from the core.")
        case nil:
            let crash = linux.crash?.stacks
            let lack = crash.flatMap { $0.hasPrefix("none: ") ? "No stacks: \($0.dropFirst(6))." : "Stacks: \($0)." }
            lines.append(lack ?? "No stacks could be captured.")
        }
        if linux.crash == nil, linux.verdict.runningTenths == nil {
            lines.append("The CPU time over the window is not known: the verdict rests on one sample.")
        }
        if let stack, stack.calls.contains(where: { $0.trust == .scan }),
            stack.decisive.allSatisfy({ $0.trust == .scan })
        {
            lines.append("The app's frames were found by scanning the stack and may be stale.")
        }
        if [.spinning, .busy, .starved, .partlyRunning].contains(linux.verdict.kind) {
            lines.append("The stack shows one moment.")
        }
        return lines + linux.notes.map(sentence)
    }

    /// A note of any of the tools as a sentence; one that begins with a path or a symbol keeps its first letter.
    private static func sentence(_ note: String) -> String {
        let isWord = !note.prefix { $0 != " " }.contains { "/._".contains($0) }
        let text = isWord ? note.capitalizingFirst : note
        return text.hasSuffix(".") ? text : text + "."
    }
}

extension Report {
    /// Puts into the first line what lists and counts need, so that they need not read more: a whole report takes a
    /// hundred times as long.
    package mutating func summarize(_ explanation: Explanation) {
        guard var linux = metadata.linux else { return }
        linux.culprit = explanation.culprit?.singleLine(limit: 512)
        linux.signature = explanation.signature.id
        linux.role = knownRole
        linux.host = body.linux?.hostName
        metadata.linux = linux
    }

    /// `foreground` or `background`; nil if nobody reported it.
    var knownRole: String? {
        let role = body.procRole?.lowercased() ?? ""
        return ["foreground", "background"].contains(role) ? role : nil
    }
}

extension ReportStack {
    /// What the thread does, in a few words: `in read, from download() (Semaphore.swift:35)`.
    var activity: String {
        let kernel = systemCall?.name.map { "in \($0)" } ?? (details?.state == "R" ? "running" : nil)
        let inside = kernel ?? calls.first.map { "in \($0.name)" } ?? "no stack"
        guard let own = named.first, own.number > 0 || kernel != nil else { return inside }
        return "\(inside), from \(own.place)"
    }
}

extension AllowanceDetails {
    /// `10.00 s to answer (scene-update), elapsed 10.05 s`.
    ///
    /// - Parameter missed: what failed; refused probes need not take the time that they have.
    func sentence(_ missed: MissedDetails?) -> String {
        func seconds(_ nanoseconds: Int64) -> String { Duration.nanoseconds(nanoseconds).seconds(fractionDigits: 2) }
        guard kind != "triggered" else { return "not exhausted" }
        let duty = EventWords.duty(event)
        let what = kind == "cpu-time" ? "of CPU time \(duty)" : kind == "termination" ? "to end" : duty
        var parts = ["\(seconds(nanoseconds)) s \(what)"]
        if creditNanoseconds > 0 { parts.append("\(seconds(creditNanoseconds)) s credit for waiting for a CPU") }
        if extendedNanoseconds > 0 { parts.append("extended by \(seconds(extendedNanoseconds)) s") }
        if pausedNanoseconds > 0 { parts.append("clock stopped for \(seconds(pausedNanoseconds)) s") }
        if missed != nil, elapsedNanoseconds < nanoseconds {
            return parts.joined(separator: ", ") + ", of which the failures took \(seconds(elapsedNanoseconds)) s"
        }
        return parts.joined(separator: ", ") + ", elapsed \(seconds(elapsedNanoseconds)) s"
    }
}
