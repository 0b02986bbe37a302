// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy
public import WatchdogVerdict

extension LifecycleDetails {
    /// The maximum number of tasks and files in a report.
    private static let limit = 64

    /// The part of an app's lifecycle that goes into a report.
    ///
    /// - Parameters:
    ///   - record: the app's lifecycle.
    ///   - incident: the incident; nil if no allowance was exhausted.
    ///   - now: the time of the decision.
    ///   - launch: the time of the launch.
    /// - Returns: nil if there is nothing to report: the app does not participate, was never suspended, and had no
    ///   tasks.
    public init?(
        _ record: LifecycleRecord, of incident: Incident? = nil, at now: Instant, launchedAt launch: Instant
    ) {
        let tasks: [BackgroundTask]
        var count: Int?
        var locks: [LockedFile] = []
        switch incident?.cause {
        case .backgroundTasks(let open, _): tasks = open
        case .tooManyTasks(let total, let first):
            tasks = first
            count = total
        case .lockedFiles(let files):
            tasks = record.openTasks
            locks = files
        case .exhausted, .triggered, .probesFailed, .launchCPUTime, .backgroundCPUTime, nil:
            tasks = record.openTasks
        }
        let wasSuspended = record.moments.contains { $0.state == .suspended }
        let (cause, brief) = incident.map { Self.words(for: $0) } ?? (nil, nil)
        guard record.takesPart || wasSuspended || !tasks.isEmpty || cause != nil else { return nil }
        self.init(
            cause: cause,
            brief: brief,
            openTasks: tasks.prefix(Self.limit).map {
                Task(
                    name: $0.name.singleLine(limit: 255),
                    ageNanoseconds: max(.zero, now - $0.begunAt).nanoseconds)
            },
            openTaskCount: count ?? tasks.count,
            lockedFiles: locks.prefix(Self.limit).map {
                Lock(
                    path: $0.path.singleLine(limit: ReportLimits.stringLength), kind: $0.kind.rawValue,
                    isExclusive: $0.isExclusive, pid: Int($0.process))
            },
            history: record.moments.map { Moment(state: $0.state.rawValue, nanoseconds: ($0.at - launch).nanoseconds) },
            mistakes: record.mistakes.total > 0 ? Mistakes(record.mistakes) : nil,
            resumeCount: record.resumes.count,
            slowestResumeNanoseconds: record.resumes.count > 0 ? record.resumes.maximum.nanoseconds : nil
        )
    }

    private static func words(for incident: Incident) -> (cause: String?, brief: String?) {
        let allowance = "\(incident.allowance.seconds(fractionDigits: 2)) s"
        switch incident.cause {
        case .backgroundTasks(let tasks, let isBusy):
            let count = tasks.count.counted("background task")
            let list = list(tasks.map { "\"\($0.name)\" for \(age($0, incident))" })
            let why = isBusy ? ", and the machine had no CPU for the app" : ""
            return ("\(count) open after \(allowance) in the background\(why): \(list)", "\(count) left open")
        case .tooManyTasks(let count, let first):
            let list = list(first.map { "\"\($0.name)\"" }, of: count)
            return ("\(count) background tasks open at once: \(list)", "\(count) background tasks open")
        case .lockedFiles(let files):
            let list = list(files.map { "\($0.path) (\($0.kind.rawValue))" })
            let count = files.count == 1 ? "a locked file" : "\(files.count) locked files"
            return ("Suspended with \(count): \(list)", "suspended with \(count)")
        case .backgroundCPUTime(let used):
            return (
                "\(used.seconds(fractionDigits: 2)) s of CPU time used in the background, \(allowance) allowed",
                "too much CPU time in the background"
            )
        case .launchCPUTime(let used):
            return (
                "\(used.seconds(fractionDigits: 2)) s of CPU time used for a launch into the background, \(allowance) allowed",
                "too much CPU time for a launch"
            )
        case .exhausted, .triggered, .probesFailed:
            return (nil, nil)
        }
    }

    private static func age(_ task: BackgroundTask, _ incident: Incident) -> String {
        "\(max(.zero, incident.decidedAt - task.begunAt).seconds(fractionDigits: 2)) s"
    }

    private static func list(_ items: [String], of count: Int? = nil) -> String {
        let shown = items.prefix(4).map { $0.singleLine(limit: 200) }
        let rest = (count ?? items.count) - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}

extension LifecycleDetails.Mistakes {
    fileprivate init(_ mistakes: LifecycleRecord.Mistakes) {
        self.init(
            statesOutOfOrder: mistakes.statesOutOfOrder, unknownStates: mistakes.unknownStates,
            unknownEvents: mistakes.unknownEvents, unknownTasks: mistakes.unknownTasks,
            repeatedTasks: mistakes.repeatedTasks)
    }

    /// The mistakes that occurred, in words.
    var words: String {
        [
            (statesOutOfOrder, "answers out of order"), (unknownStates, "answers to states that were not asked for"),
            (unknownEvents, "answers to events that were not open"), (unknownTasks, "ends of tasks that were not open"),
            (repeatedTasks, "tasks begun twice"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }
}

extension LifecycleDetails {
    /// The states in one line: `launching +0.000 s, foreground +0.412 s`.
    var historyWords: String {
        (history.count > 12 ? "…, " : "")
            + history.suffix(12).map { "\($0.state) \(Duration.nanoseconds($0.nanoseconds).offsetText)" }.joined(
                separator: ", ")
    }

    /// Lines for the reader, each beginning with a word and a colon.
    package var lines: [String] {
        var lines: [String] = []
        if !history.isEmpty { lines.append("Lifecycle: \(historyWords)") }
        for task in openTasks.prefix(16) {
            let age = Duration.nanoseconds(task.ageNanoseconds).seconds(fractionDigits: 2)
            lines.append("Background task: \"\(task.name)\", open for \(age) s")
        }
        if openTaskCount > min(16, openTasks.count) {
            lines.append("Background task: \(openTaskCount - min(16, openTasks.count)) more are open")
        }
        for lock in lockedFiles {
            lines.append(
                "Locked file: \(lock.path), \(lock.kind), \(lock.isExclusive ? "exclusive" : "shared"), held by pid \(lock.pid)"
            )
        }
        if let slowestResumeNanoseconds {
            let slowest = Duration.nanoseconds(slowestResumeNanoseconds).seconds(fractionDigits: 3)
            lines.append("Resumes: \(resumeCount), the slowest took \(slowest) s")
        }
        if let mistakes { lines.append("Mistakes: \(mistakes.words)") }
        return lines
    }
}

extension Verdict {
    /// The verdict on an incident; a cause from the lifecycle takes precedence over the main thread's state.
    ///
    /// - Parameter facts: the incident.
    public init(of facts: IncidentFacts) { self.init(of: facts, nil) }

    /// Creates the verdict with the stacks, which show the place of a crash.
    init(of facts: IncidentFacts, _ stacks: StackInfo?) {
        if let crash = facts.crash {
            let stack = stacks?.stack(of: crash.thread(of: facts.pid), executable: facts.executablePath)
            let place = stack.flatMap { CrashPlace($0, crash, process: facts.pid, name: facts.appName) }
            self.init(of: crash, at: place, process: facts.pid)
            return
        }
        self.init(judging: facts.judgedEvidence)
        guard let cause = facts.lifecycle?.cause else { return }
        line = cause
        brief = facts.lifecycle?.brief ?? brief
    }
}
