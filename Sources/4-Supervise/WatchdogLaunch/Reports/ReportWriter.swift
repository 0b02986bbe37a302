// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import WatchdogBase
package import WatchdogCapture
package import WatchdogConfiguration
package import WatchdogLinux
import WatchdogRendering
package import WatchdogReport
package import WatchdogReportStore
package import WatchdogVerdict

/// Writes reports to disk, off the loop.
///
/// Reports of crashes have a queue of their own, and the others never wait for them: an app that fails again and again
/// fills its queue, while somebody waits for the report of another that hangs. Every incident gets its report, however
/// many are waiting; stacks beyond the limit of ``StackBacklog`` are dropped.
///
/// Isolation: any thread may call `write`, which never blocks; results arrive through the mailbox.
package final class ReportWriter: Sendable {
    /// How long a report waits for samples and a trail whose reader the kernel holds.
    package static let patience = Duration.seconds(3)

    package let store: ReportStore
    let symbolicator: Symbolicator
    /// Whether reports are printed on standard error, and not written to the store.
    private let prints: Bool
    private let mailbox: Mailbox<Host.Message>
    private let readingPatience: Duration
    private let queue = DispatchQueue(label: "org.watchdogd.reports")
    /// Makes reports of hangs wait for the kills that are due.
    package let hold: ReportHold
    private let crashQueue = DispatchQueue(label: "org.watchdogd.crash-reports")
    /// Waits for systemd-coredump without delaying other reports.
    private let examining = DispatchQueue(label: "org.watchdogd.crashes", attributes: .concurrent)
    /// The memory and descriptors that waiting reports hold.
    private let backlog = Mutex(StackBacklog())
    /// Names what a report lacked when it was written.
    private let lateNames: LateNames
    /// Nil if each incident gets its own report.
    private let repeats: Mutex<RepeatLimit>?

    let crashLimit = Mutex(CrashLimit())

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - limitsRepeats: whether incidents of a fault that has had many reports are counted in the newest one.
    ///   - readingPatience: how long a report waits for samples and a trail whose reader the kernel holds.
    ///   - namingDelays: when names that a report lacks are tried again.
    init(
        store: ReportStore, symbolicator: Symbolicator, mailbox: Mailbox<Host.Message>, limitsRepeats: Bool,
        prints: Bool = false, readingPatience: Duration = patience,
        namingDelays: [Duration] = NamingTries<any NamingJob>.delays
    ) {
        self.store = store
        hold = ReportHold(queue)
        self.prints = prints
        self.symbolicator = symbolicator
        self.mailbox = mailbox
        self.readingPatience = readingPatience
        lateNames = LateNames(store, symbolicator, mailbox, delays: namingDelays)
        repeats = limitsRepeats ? Mutex(RepeatLimit()) : nil
    }

    /// Writes the report of an incident, then posts ``Host/Message/reported(app:incident:_:)``.
    ///
    /// - Parameter isRepeated: whether the previous watchdogd may already have written it.
    package func write(
        app: Int, incident: IncidentKey, facts: IncidentFacts, host: HostFacts, capture: CaptureOutcome,
        others: TreeSnapshot = TreeSnapshot(), trail: TrailCapture? = nil, log: LogSource? = nil,
        watch: HangWatch? = nil, postMortem: PostMortem? = nil, isRepeated: Bool = false
    ) {
        let cost = StackBacklog.Cost(of: capture, watch)
        let hasRoom = backlog.withLock { $0.admit(cost) }
        // The main process comes first: the others take what room remains.
        let (others, otherCost) = backlog.withLock { $0.admit(others) }
        let capture = hasRoom ? capture : .failed("the stacks of other waiting reports take too much memory")
        let watch = hasRoom ? watch : nil
        let finish: @Sendable (ReportOutcome) -> Void = { [self] outcome in
            backlog.withLock {
                if hasRoom { $0.release(cost) }
                $0.release(otherCost)
            }
            mailbox.post(.reported(app: app, incident: incident, outcome))
        }
        let written: @Sendable () -> ReportOutcome? = { [store] in
            guard isRepeated, let report = store.report(of: facts.id, app: facts.appName) else { return nil }
            var outcome = ReportOutcome(verdict: Verdict(of: facts), path: report.path)
            // The previous watchdogd may have ended before it told the journal.
            if let whole = try? store.read(report) {
                outcome.explanation = Explanation(of: whole)
                outcome.data = (try? ReportCoding.encode(whole)).map { ReportData($0) }
            }
            return outcome
        }
        guard let postMortem else {
            return whenRead(watch, trail) { [self] in
                finish(written() ?? makeReport(app, incident, facts, host, capture, others, trail, log, watch))
            }
        }
        examining.async { [self] in
            if let outcome = written() { return finish(outcome) }
            var facts = facts
            let finding = find(postMortem, &facts)
            crashQueue.async { [self, facts] in finish(makeCrashReport(app, facts, host, finding, log)) }
        }
    }

    /// Makes a report once the samples and the trail are there, or without them; until then, others come first.
    private func whenRead(
        _ watch: HangWatch?, _ trail: TrailCapture?, _ make: @escaping @Sendable () -> Void
    ) {
        // The first of two calls takes it.
        let pending = Locked<(@Sendable () -> Void)?>(make)
        let next: @Sendable () -> Void = { pending.withLock { $0.take() }?() }
        let reading = DispatchGroup()
        for whenEnded in [watch?.whenEnded, trail?.whenEnded].compactMap(\.self) {
            reading.enter()
            whenEnded { reading.leave() }
        }
        reading.notify(queue: queue, execute: next)
        guard watch != nil || trail != nil else { return }
        queue.asyncAfter(deadline: .now() + readingPatience / .seconds(1), execute: next)
    }

    private func makeReport(
        _ app: Int, _ incident: IncidentKey, _ facts: IncidentFacts, _ host: HostFacts, _ capture: CaptureOutcome,
        _ others: TreeSnapshot,
        _ trail: TrailCapture?, _ log: LogSource?, _ watch: HangWatch?
    ) -> ReportOutcome {
        var facts = facts
        var captured: CapturedProcess?
        let record = watch?.record()
        facts.evidence.strain = record?.strain
        let found = trail?.end() ?? TreeSnapshot()
        let (strangers, cost) = backlog.withLock { $0.admit(found) }
        defer { backlog.withLock { $0.release(cost) } }
        let otherStacks = OtherStacks([others, strangers], symbolicator)
        let samples: ProcessSamples?
        (captured, samples) = name(capture, record?.sampling, facts, otherStacks)
        facts.samples = samples?.comparable(with: captured)
        facts.others = otherStacks.processes(of: 0, besides: facts.pid)
        facts.strangers = otherStacks.processes(of: 1, besides: facts.pid)
        facts.notes += others.notes
        facts.completeTimes()
        var stacks: Snapshot?
        switch capture {
        case .taken(let snapshot):
            stacks = snapshot
            facts.completeCall(from: captured)
        case .sampled:
            captured = facts.samples.map { CapturedProcess(mostlySeenIn: $0) }
            facts.completeEvidence(from: captured)
        case .failed(let reason):
            captured = facts.samples.map { CapturedProcess(mostlySeenIn: $0) }
            facts.notes.append("The stacks could not be captured: \(reason).")
        }
        let unnamed = UnnamedStacks(
            main: captured?.shortage == nil ? nil : stacks,
            sampling: samples?.shortage == nil && facts.samples == samples ? nil : record?.sampling, others: otherStacks
        )
        return write(app, incident, &facts, host, captured, stacks, unnamed, log)
    }

    // MARK: - Names that come later

    /// Whether reports wait for names, or the loop has not heard of the last ones.
    package var awaitsNames: Bool { !lateNames.isIdle }

    /// Notes that the loop has received ``Host/Message/named(_:)``.
    func namesWereTold() { lateNames.wasTold() }

    /// Looks for the names that an earlier watchdogd has not found.
    package func resumeNaming() { lateNames.resume(writing: queue) }

    /// Tries to find missing names once more at once, and then no more.
    package func hurryNames() { lateNames.hurry(writing: queue) }

    /// Adds names to no report from now on.
    ///
    /// - Returns: whether no report is being rewritten; if one is, ``Host/Message/named(_:)`` follows, and an earlier end
    ///   of the process would leave an incomplete file.
    package func closeNames() -> Bool { lateNames.close() }

    /// Writes a report, and has what it lacks named later.
    ///
    /// - Parameters:
    ///   - captured: the stacks with names.
    ///   - stacks: the same as they were captured.
    ///   - unnamed: what lacks names.
    package func write(
        _ app: Int, _ incident: IncidentKey, _ facts: inout IncidentFacts, _ host: HostFacts,
        _ captured: CapturedProcess?, _ stacks: Snapshot?, _ unnamed: UnnamedStacks, _ log: LogSource?
    ) -> ReportOutcome {
        guard !prints, !unnamed.isEmpty else { return write(&facts, host, captured, stacks, log) }
        let cost = unnamed.cost
        let hasRoom = lateNames.reserve(cost)
        if hasRoom { facts.notes.append(UnnamedReport.note) }
        let outcome = write(&facts, host, captured, stacks, log)
        guard hasRoom else { return outcome }
        guard let path = outcome.path, outcome.repeats == nil else {
            lateNames.release(cost)
            return outcome
        }
        let report = UnnamedReport(
            app: app, incident: incident, facts, host, captured, unnamed, hasCapture: stacks != nil, path: path)
        lateNames.add(report, cost, writing: facts.kind == .crash ? crashQueue : queue)
        return outcome
    }

    // MARK: - Writing

    /// Symbolicates the capture and the samples in parallel, then the other processes: each takes one process and about
    /// the same time.
    private func name(
        _ capture: CaptureOutcome, _ sampling: Sampling?, _ facts: IncidentFacts, _ others: OtherStacks
    ) -> (CapturedProcess?, ProcessSamples?) {
        let captured = Mutex<CapturedProcess?>(nil)
        let samples = Mutex<ProcessSamples?>(nil)
        DispatchQueue.concurrentPerform(iterations: 2 + others.count) { part in
            if part > 1 {
                others.name(part - 2)
            } else if part == 0 {
                let named = sampling?.samples(
                    named: facts.appName, path: facts.executablePath, at: facts.captureTime, with: symbolicator)
                samples.withLock { $0 = named }
            } else if case .taken(let snapshot) = capture {
                let named = symbolicator.symbolicate(snapshot)
                captured.withLock { $0 = named }
            }
        }
        return (captured.withLock(\.self), samples.withLock(\.self))
    }

    /// - Parameters:
    ///   - captured: the stacks with names.
    ///   - stacks: the same as they were captured, to be kept if the app's are.
    private func write(
        _ facts: inout IncidentFacts, _ host: HostFacts, _ captured: CapturedProcess?, _ stacks: Snapshot?,
        _ log: LogSource?
    ) -> ReportOutcome {
        // Read the log after symbolication: by now the program's last output has reached the journal.
        facts.log = log.flatMap { LogDetails($0) }
        var report = Report(of: facts, on: host, capture: captured)
        var outcome = ReportOutcome(verdict: report.body.linux?.verdict ?? Verdict(of: facts))
        outcome.fault = Blame(for: report).party
        let explanation = Explanation(of: report)
        outcome.explanation = explanation
        report.summarize(explanation)
        let ownSignature = Signature(of: report)
        (outcome.incident, outcome.signature) = (facts.id, ownSignature.id)
        outcome.build = report.metadata.buildVersion.flatMap { $0.isEmpty ? nil : $0 }
        outcome.visibility = facts.visibility == .unknown ? nil : facts.visibility.rawValue.lowercased()
        var encoded = try? ReportCoding.encode(report)
        if prints {
            outcome.data = encoded.map { ReportData($0) }
            StandardError.print(TextRenderer.render(report), incident: report.body.incident)
            outcome.printed = report
            return outcome
        }
        // A capture on request is no incident: it is neither counted nor a report of a fault.
        let signature = repeats == nil || facts.kind == .capture ? nil : ownSignature
        if let signature, let (path, count) = count(signature, at: facts.captureTime) {
            outcome.path = path
            outcome.repeats = count
            return outcome
        }
        var core: StoredCore?
        if let stacks, store.keepsStacks(of: facts.appName) {
            let notes = facts.notes.count
            core = set(aside: stacks, of: report, &facts)
            if facts.notes.count > notes {
                report = Report(of: facts, on: host, capture: captured)
                report.summarize(explanation)
                encoded = try? ReportCoding.encode(report)
            }
        }
        // The journal gets it even if the disk is full.
        outcome.data = encoded.map { ReportData($0) }
        do {
            let path = try store.write(report, encoded: encoded, core: core)
            if let signature { repeats?.withLock { $0.wrote(path, signature, at: .now()) } }
            outcome.path = path
        } catch {
            outcome.failure = "\(error)"
            outcome.isUnwritten = true
        }
        return outcome
    }

    /// Writes the stacks to the disk; if that fails, the facts say so.
    private func set(aside stacks: Snapshot, of report: Report, _ facts: inout IncidentFacts) -> StoredCore? {
        do {
            let (bytes, missing) = try stacks.core()
            let core = try store.set(aside: bytes, of: report)
            if let note = ReportCore.note(on: missing) { facts.notes.append(note) }
            return core
        } catch {
            facts.notes.append("The stacks were not kept: \(error).")
            return nil
        }
    }

    /// Counts the incident in the newest report of its fault; nil if it gets its own.
    private func count(_ signature: Signature, at time: WallTime) -> (path: String, count: Int)? {
        guard let path = repeats?.withLock({ $0.report(counting: signature, at: .now()) }),
            // Someone may have removed or edited it, or put a link in its place.
            let name = path.split(separator: "/").last,
            let stored = try? store.find(String(name)), stored.isInStore, var report = try? store.read(stored)
        else { return nil }
        report.countRepeat(at: time)
        guard (try? store.replace(stored, with: report)) != nil else { return nil }
        return (path, report.body.linux?.repeats?.count ?? 1)
    }
}

extension LogDetails {
    /// The last lines of a program's output; nil if there are none.
    fileprivate init?(_ source: LogSource) {
        let lines = source.tail().map { Line(microseconds: $0.microseconds, text: $0.text) }
        guard !lines.isEmpty else { return nil }
        switch source {
        case .journal: self.init(source: .journal, lines: lines)
        case .file: self.init(source: .file, lines: lines)
        }
    }
}

/// The kept stacks of a report.
public enum ReportCore {
    /// The most bytes of their file.
    public static let limit = Snapshot.coreLimit

    /// What a report says of stacks that are not kept whole; nil if all are.
    package static func note(on missing: [(thread: Int32, bytes: Int)]) -> String? {
        guard !missing.isEmpty else { return nil }
        let parts = missing.prefix(3).map { "\(max(1, $0.bytes >> 10)) KiB of thread \($0.thread)" }
        let rest = missing.count > 3 ? " and of \(missing.count - 3) more" : ""
        return "Debuggers do not get to the outer ends of kept stacks of which parts were not kept: "
            + parts.joined(separator: ", ") + "\(rest)."
    }
}

extension ReportStore {
    /// Sets how long an app's reports are kept, and whether with its stacks.
    package func keep(reportsOf app: String, as settings: WatchdogSettings) {
        keep(reportsOf: app, for: settings.reportAge)
        keep(stacksOf: app, settings.keepsStacks)
    }
}
