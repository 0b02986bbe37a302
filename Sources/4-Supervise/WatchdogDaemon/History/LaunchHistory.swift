// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogHistory
package import WatchdogLaunch
package import WatchdogLinux
package import WatchdogPolicy

/// Passes launches, hangs and ends of the daemon's apps to the thread that keeps them.
///
/// Isolation: the loop's thread. No call waits.
package final class LaunchHistory {
    private let host: Host
    private let writer: HistoryWriter
    /// What the thread has to say.
    private let mailbox: Mailbox<HistoryWriter.News>
    private let news: IOSource
    private let tell: (HistoryWriter.News) -> Void
    private let hostName: String
    /// Launches that are over, while what they have read is looked up.
    private var pending: [Int: KeptLaunch] = [:]
    private var number = 0

    /// Starts the thread.
    ///
    /// - Parameter tell: called on the loop with what the thread has to say.
    package init(
        _ settings: HistorySettings, on host: Host, tell: @escaping (HistoryWriter.News) -> Void
    ) throws(LinuxError) {
        self.host = host
        hostName = Self.nameOfThisHost
        self.tell = tell
        let mailbox = try Mailbox<HistoryWriter.News>()
        self.mailbox = mailbox
        news = try host.loop.receive(from: mailbox, handler: tell)
        writer = try HistoryWriter(path: settings.path, limits: settings.limits, host: hostName) { mailbox.post($0) }
    }

    private static var nameOfThisHost: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "" }
        return withUnsafeBytes(of: names.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// Ends the thread once it has written everything; waits for that, but not long.
    package func stop() {
        keepPending()
        writer.shutDown(within: .seconds(1))
        // The loop may end before the thread has opened its file.
        for message in mailbox.takeAll() { tell(message) }
    }

    /// Waits until everything is written, but not long: the process is about to execute itself again.
    package func flush() {
        keepPending()
        writer.flush(within: .milliseconds(500))
    }

    // MARK: - Notices

    /// Notes what a launch reports.
    package func noticed(_ notice: Notice, of launch: AppLaunch, in lane: Int) {
        perform(launch.notes.step(notice), for: launch, in: lane)
        switch notice {
        case .launched(let pid), .adopted(let pid):
            launch.notes.version = ProgramVersion().named(launch.shell.configuration.version)
            launch.notes.folder = ProgramFacts.folder(of: pid)
            readFacts(of: launch, in: lane)
        case .hung(let duration):
            let event = launch.supervisor.machine.isOnlyProbed ? KeptHang.probes : WatchdogEvent.sceneUpdate.rawValue
            keep(.hang(hang(of: launch, duration, event, isFatal: false)))
        case .transgressed(let incident) where incident.event == .sceneUpdate:
            keep(incident, of: launch)
        case .lifecycle(.responsive(let duration)): resumed(launch, after: duration)
        default: break
        }
    }

    /// Reads what a launch of the previous watchdogd runs.
    package func follow(_ launch: AppLaunch, in lane: Int) {
        // The previous watchdogd has kept what is over.
        launch.notes.follow(launch.supervisor.machine)
        guard let pid = launch.pid, !launch.notes.isOver else { return }
        launch.notes.folder = ProgramFacts.folder(of: pid)
        readFacts(of: launch, in: lane)
        if launch.notes.isRecorded { launch.notes.folder = nil }
    }

    /// Keeps the end of a launch, and the launch itself if it never became ready.
    package func ended(_ launch: AppLaunch, _ outcome: Outcome, isCausedByMemory: Bool) {
        guard let step = launch.notes.end() else { return }
        defer { launch.notes.folder = nil }
        if case .ended = step {
            keep(.launch(record(of: launch, outcome: KeptLaunch.Outcome(outcome))))
        } else {
            perform(step, for: launch)
        }
        guard let reason = KeptTermination.Reason(outcome, isCausedByMemory: isCausedByMemory) else { return }
        var event: String?
        if case .watchdog(let incident) = outcome.cause { event = incident.event.rawValue }
        keep(
            .termination(
                KeptTermination(
                    app: launch.shell.configuration.name, time: .now(), reason: reason,
                    isForeground: isForeground(launch, outcome), event: event, status: outcome.status?.words,
                    version: launch.notes.version)))
    }

    // MARK: - Records

    private func keep(_ entry: HistoryEntry) { writer.record(entry) }

    private func perform(_ step: LaunchNotes.Step?, for launch: AppLaunch, in lane: Int = 0) {
        switch step {
        case .ready(let source): ready(launch, by: source, in: lane)
        case .complete(let moments):
            guard let completion = LaunchSubject(launch, host: hostName).completion(moments) else { return }
            if let number = launch.notes.pending, pending[number] != nil {
                pending[number]?.complete(with: completion)
            } else {
                keep(.completion(completion))
            }
        case .ended, nil: break
        }
    }

    private func ready(_ launch: AppLaunch, by source: ReadinessSource, in lane: Int) {
        var record = record(of: launch, outcome: .ready)
        record.source = source.rawValue
        // It would be the rest of the allowance.
        if source == .assumed { record.phases[.ready] = nil }
        // Read now: what the app does later is not part of its launch.
        record.cpuTime = launch.pid.flatMap { ProcessCPU.time($0) }
        number += 1
        pending[number] = record
        launch.notes.pending = number
        // A thousand idle apps take no descriptor for what is read once.
        defer { launch.notes.folder = nil }
        readFacts(of: launch, in: lane) { [self, number] facts in
            guard var record = pending.removeValue(forKey: number) else { return }
            pending.releaseStorageIfEmpty()
            record.version = facts?.version ?? record.version
            record.bytesRead = facts?.bytesRead
            record.majorFaults = facts?.majorFaults
            record.temperature = facts?.bytesRead.map { $0 > 0 ? .cold : .warm } ?? .unknown
            keep(.launch(record))
        }
    }

    private func keepPending() {
        for (_, record) in pending.sorted(by: { $0.key < $1.key }) { keep(.launch(record)) }
        pending = [:]
    }

    private func record(of launch: AppLaunch, outcome: KeptLaunch.Outcome) -> KeptLaunch {
        LaunchSubject(launch, host: hostName).record(outcome: outcome, launch.notes)
    }

    private func resumed(_ launch: AppLaunch, after duration: Duration) {
        var record = record(of: launch, outcome: .ready)
        record.kind = .resume
        record.cause = "resume"
        record.time = .now()
        record.moments = [.ready: duration]
        (record.phases, record.tasks) = ([:], [])
        keep(.launch(record))
    }

    /// Keeps a silence that was judged; the end of the launch says that an app was killed for failed probes.
    private func keep(_ incident: Incident, of launch: AppLaunch) {
        let isExhausted = incident.cause == .exhausted
        guard isExhausted || !incident.isEnforced else { return }
        let reported = isExhausted ? KeptHang.reported : KeptHang.reportedProbes
        let duration = incident.decidedAt - incident.startedAt - incident.paused
        keep(
            .hang(
                hang(
                    of: launch, duration, incident.isEnforced ? incident.event.rawValue : reported,
                    isFatal: incident.isEnforced)))
    }

    private func hang(of launch: AppLaunch, _ duration: Duration, _ event: String, isFatal: Bool) -> KeptHang {
        KeptHang(
            app: launch.shell.configuration.name, time: .now(), duration: max(.zero, duration), event: event,
            isFatal: isFatal, version: launch.notes.version)
    }

    private func isForeground(_ launch: AppLaunch, _ outcome: Outcome) -> Bool {
        if case .watchdog(let incident) = outcome.cause { return incident.visibility == .foreground }
        let states = launch.supervisor.machine.lifecycleRecord.moments.map(\.state)
        return ![.background, .suspended].contains(states.last { $0 != .terminating && $0 != .notRunning })
    }

    /// Reads beside the loop what runs.
    private func readFacts(
        of launch: AppLaunch, in lane: Int, then end: @escaping (ProgramFacts?) -> Void = { _ in }
    ) {
        guard let folder = launch.notes.folder else { return end(nil) }
        let configuration = launch.shell.configuration
        host.work.run(in: lane, of: configuration.workOwner, within: ProgramFacts.limit) {
            [version = configuration.version] in
            ProgramFacts.read(folder, configuredVersion: version)
        } then: { [weak launch] facts in
            // A wrapper may have executed the program since.
            if let version = facts?.version { launch?.notes.version = version }
            end(facts)
        }
    }
}

extension KeptLaunch.Outcome {
    /// The outcome of a launch that never became ready.
    fileprivate init(_ outcome: Outcome) {
        switch outcome.cause {
        case .spawnFailed: self = .failed
        case .watchdog: self = .killed
        case .exited, .terminated, .killedOnRequest: self = .ended
        }
    }
}

extension KeptTermination.Reason {
    /// Why a process ended; nil if there was none.
    init?(_ outcome: Outcome, isCausedByMemory: Bool) {
        switch outcome.cause {
        case .spawnFailed: return nil
        case .watchdog(let incident):
            switch incident.cause {
            case .backgroundTasks, .tooManyTasks: self = .backgroundTask
            case .launchCPUTime, .backgroundCPUTime: self = .cpuLimit
            case .lockedFiles: self = .lockedFile
            case .exhausted, .triggered, .probesFailed: self = .watchdog
            }
        case .terminated, .killedOnRequest: self = .normal
        case .exited:
            switch outcome.status {
            case .exited(code: 0): self = .normal
            case .signaled(SIGSEGV, _), .signaled(SIGBUS, _): self = .badAccess
            case .signaled(SIGILL, _), .signaled(SIGTRAP, _): self = .illegalInstruction
            case .signaled(SIGKILL, _) where isCausedByMemory: self = .memory
            case .exited, .signaled, .unknown, nil: self = .abnormal
            }
        }
    }
}

extension HistoryWriter.News {
    /// Tells people of a problem.
    package func mention() {
        if case .problem(let sentence) = self { StandardError.mention(sentence) }
    }
}

/// Where a daemon keeps its launches, and how many.
public struct HistorySettings: Hashable, Sendable {
    /// The file.
    public var path: String
    /// How much is kept.
    public var limits: HistoryStore.Limits

    /// Creates settings.
    public init(path: String, limits: HistoryStore.Limits = HistoryStore.Limits()) {
        self.path = path
        self.limits = limits
    }
}
