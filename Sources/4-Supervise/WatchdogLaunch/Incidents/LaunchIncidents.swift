// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogCapture
import WatchdogLinux
package import WatchdogPolicy
package import WatchdogReport
import WatchdogVerdict

/// The incidents of one launch, from the first sample to the written report.
///
/// Isolation: the loop's thread.
package final class LaunchIncidents {
    private let host: Host
    private let key: Int
    private let scene: IncidentScene
    private let output: LaunchOutput
    private let emit: (LaunchEvent) -> Void
    private var open: [IncidentKey: OpenIncident] = [:]
    /// Samples an app whose allowance is running out.
    private var watch: HangWatch?
    /// Limits the reports of hangs that ended by themselves.
    private var hangReportLimit = HangReportLimit()
    private var lastNumber = 0

    /// Called when the report of an incident was written or failed.
    package var onReport: (Incident, ReportOutcome) -> Void = { _, _ in }
    /// Called when the report of a hang was written or failed.
    package var onHangReport: (Hang, ReportOutcome) -> Void = { _, _ in }
    /// Called when the report of a crash was written or failed.
    package var onCrashReport: (Crash, ReportOutcome) -> Void = { _, _ in }

    /// Creates the component without incidents.
    ///
    /// - Parameter key: identifies the launch to the host.
    init(
        _ host: Host, key: Int, _ scene: IncidentScene, _ output: LaunchOutput, emit: @escaping (LaunchEvent) -> Void
    ) {
        self.host = host
        self.key = key
        self.scene = scene
        self.output = output
        self.emit = emit
    }

    /// Whether reports are still being written.
    package var hasPendingReports: Bool { open.values.contains { $0.isBeingWritten } }

    /// Stops sampling.
    package func stop() { _ = takeWatch() }

    // MARK: - Hangs

    /// Starts to sample the app from outside.
    func observe(every interval: Duration) {
        guard watch == nil, let process = scene.tree.judged, let thread = scene.evidence.main.thread,
            host.copiers.refusal(of: scene.tenant) == nil,
            let seat = try? host.gaps.samplers.take(for: scene.tenant, at: .now()).get()
        else { return }
        let mailbox = host.mailbox
        // The first sample stops threads that are on a CPU, as a capture does.
        let number = host.captureBegan(within: scene.launch.spec.captureBudget)
        do {
            watch = try HangWatch(
                of: process.pid, startTime: process.startTime, thread: thread, every: interval, at: .now(),
                by: host.copiers.copying(for: scene.tenant), seat: seat
            ) {
                mailbox.post(.looked(number: number))
            }
        } catch {
            host.captureEnded(number)
        }
    }

    /// Stops sampling; reports a hang that is worth it, although the app keeps running.
    func endObservation(_ hang: Hang?, _ record: LaunchRecord) {
        guard let watch = takeWatch(), let hang, hangReportLimit.admit(hang, of: scene.launch.spec, at: .now()) else {
            return
        }
        _ = scene.evidence.inspect()
        var facts = scene.facts(
            hang.event, .wallClock, allowance: hang.allowance, elapsed: hang.duration, scene.details)
        facts.kind = .hang
        facts.samplesBegan = watch.began - hang.startedAt
        // The app runs again: where it is now is not evidence of where it was.
        facts.evidence.state = nil
        facts.evidence.waitChannel = nil
        scene.complete(&facts, record)
        lastNumber += 1
        write(.hang(lastNumber), OpenIncident(kind: .hang(hang), facts: facts, capture: .sampled, watch: watch))
    }

    /// Stops the watch and returns it; nil if there is none.
    private func takeWatch() -> HangWatch? {
        guard let watch else { return nil }
        self.watch = nil
        watch.stop()
        return watch
    }

    // MARK: - Captures

    /// Starts the capture, which also kills if the incident is enforced; reports ``LaunchEvent/captured(incident:)``.
    package func capture(_ incident: Incident) {
        let server = scene.server(of: incident)
        let thread = server?.thread ?? scene.evidence.main
        var open = OpenIncident(
            kind: .judged(incident), facts: scene.facts(of: incident), server: server, blocking: thread.blocking)
        // The samples are of the main process.
        if let watch = takeWatch(), server == nil {
            open.watch = watch
            open.facts?.samplesBegan = max(.zero, watch.began - incident.startedAt)
        }
        capture(.judged(incident.id), open, kills: incident.isEnforced)
    }

    /// Captures the stacks of a healthy app and writes a report; the app keeps running.
    ///
    /// The machine is not involved, because nothing is decided.
    package func captureOnRequest(_ record: LaunchRecord, then tell: @escaping (ReportOutcome) -> Void) {
        // Evidence counts from the last sign of life; without one, only the state of the main thread is known.
        scene.evidence.main.ensureWindow()
        _ = scene.evidence.inspect()
        var facts = scene.facts(.sceneUpdate, .requested, allowance: .zero, elapsed: .zero, scene.details)
        facts.kind = .capture
        if [.background, .suspended].contains(record.lifecycleState) {
            facts.visibility = .background
            facts.watchdogVisibility = .background
        }
        facts.processState = record.lifecycleState == .suspended ? .suspended : .running
        lastNumber += 1
        capture(
            .request(lastNumber),
            OpenIncident(
                kind: .requested(record, tell: tell), facts: facts, blocking: scene.evidence.main.blocking),
            kills: false)
    }

    private func capture(_ incident: IncidentKey, _ opened: OpenIncident, kills: Bool) {
        // A pending report keeps its id.
        open[incident, default: opened].facts = opened.facts
        open[incident]?.watch = opened.watch
        open[incident]?.server = opened.server
        open[incident]?.blocking = opened.blocking
        if kills { open[incident]?.dueKill = host.reportWriter.hold.killIsDue() }
        guard let blocking = opened.blocking else { return startCapture(incident, kills: kills) }
        (opened.server?.thread ?? scene.evidence.main).follow { [scene] in scene.tree.members.processes }
        blocking.capture { [weak self] in self?.startCapture(incident, kills: kills) }
    }

    private func startCapture(_ incident: IncidentKey, kills: Bool) {
        guard open[incident]?.isBeingWritten == false else { return }
        guard let main = scene.tree.main, let judged = scene.tree.judged else {
            open[incident]?.dueKill?.end()
            return captured(incident, .failed("there is no process"))
        }
        let server = open[incident]?.server
        let process = server?.process ?? judged.process
        let startTime = server == nil ? judged.startTime : server?.thread.startTime
        var options = SnapshotOptions(pidfd: process.descriptor.number, startTime: startTime)
        if kills {
            let descriptor = scene.tree.cgroup?.killDescriptor
            open[incident]?.killDescriptor = descriptor
            options.ending = .kill(controlGroup: descriptor?.number, processGroup: main.pid)
        }
        let mailbox = host.mailbox
        let key = key
        let number = host.captureBegan(within: scene.launch.spec.captureBudget)
        let dueKill = open[incident]?.dueKill
        let refusal = host.captureThread.capture(
            process.pid, of: scene.tenant, with: scene.tree.members, preferring: preferred(open[incident]), options
        ) { result, others in
            dueKill?.end()
            let outcome: CaptureOutcome =
                switch result {
                case .success(let snapshot): .taken(snapshot)
                case .failure(let error): .failed("\(error)")
                }
            mailbox.post(.captured(app: key, incident: incident, outcome, others, number: number))
        }
        // Read this during the capture; it needs nothing from the process itself.
        open[incident]?.facts?.cpu = (server?.thread ?? scene.evidence.main).cpuStatistics()
        guard let refusal else { return host.captureWaits() }
        host.captureEnded(number)
        dueKill?.end()
        captured(incident, .failed("\(refusal)"))
    }

    /// The processes to capture first if there are too many: those that the main thread waits for.
    private func preferred(_ incident: OpenIncident?) -> [Int32] {
        guard let incident, var evidence = incident.facts?.evidence else { return [] }
        incident.blocking?.complete(&evidence)
        return evidence.waits.compactMap { wait in wait.holder.map { Int32(truncatingIfNeeded: $0.process) } }
    }

    /// How long the results of captures wait while kills of other apps are due.
    private static let patience = Duration.milliseconds(100)
    /// How often they look whether that is so.
    private static let interval = Duration.milliseconds(2)

    /// Handles the result of a capture.
    ///
    /// - Parameter end: when the capture ended.
    package func captured(
        _ incident: IncidentKey, _ outcome: CaptureOutcome, _ others: TreeSnapshot = TreeSnapshot(),
        at end: Instant = .now()
    ) {
        // What follows a capture, which has killed, would delay the kills of the apps that hang at the same time.
        if case .taken = outcome, host.reportWriter.hold.isKillDue, .now() - end < Self.patience {
            _ = host.pacer.schedule(after: Self.interval) { [weak self] in
                self?.captured(incident, outcome, others, at: end)
            }
            return
        }
        host.gaps.captured(of: scene.tenant)
        guard var captured = open[incident], !captured.isBeingWritten else { return }
        captured.capture = outcome
        captured.others = others
        switch captured.kind {
        case .requested(let record, _):
            if var facts = captured.facts {
                scene.complete(&facts, record)
                captured.facts = facts
            }
            write(incident, captured)
        case .judged(let judged):
            open[incident] = captured
            emit(.captured(incident: judged.id))
        case .hang, .crash:
            break
        }
    }

    /// Replaces the thread of a capture that has exceeded its budget.
    func abandonCapture() {
        for incident in open.values { incident.dueKill?.end() }
        host.captureThread.replaceStuckWorker(after: scene.launch.spec.captureBudget / 2, at: .now())
    }

    // MARK: - Reports

    /// Records that the report of an incident is to be written, before that is started.
    func addPending(_ incident: Incident) {
        let id = open[.judged(incident.id)]?.facts?.id ?? .random()
        open[.judged(incident.id), default: OpenIncident(kind: .judged(incident))].pendingReport = id
    }

    /// Starts writing the report of an incident.
    package func report(_ incident: Incident, _ record: LaunchRecord) {
        let key = IncidentKey.judged(incident.id)
        var open = self.open[key] ?? OpenIncident(kind: .judged(incident))
        open.kind = .judged(incident)
        let isRepeated = open.facts == nil
        var facts = open.facts ?? scene.facts(of: incident)
        if let id = open.pendingReport { facts.id = id }
        scene.complete(&facts, record, of: incident)
        open.facts = facts
        let reason = isRepeated ? "watchdogd itself was restarted meanwhile" : "they were not captured in time"
        open.capture = open.capture ?? .failed(reason)
        write(key, open, isRepeated: isRepeated)
    }

    /// Starts writing the report of an unexpected end.
    ///
    /// The machine is not involved, because nothing is left to decide.
    package func report(_ crash: Crash, _ record: LaunchRecord, isRepeated: Bool = false) {
        if pendingCrash == nil { addPendingCrash() }
        var facts = scene.facts(of: crash, record)
        facts.id = pendingCrash ?? facts.id
        write(
            .crash,
            OpenIncident(kind: .crash(crash), facts: facts, capture: .failed("it had ended")),
            postMortem: scene.postMortem(facts), isRepeated: isRepeated)
    }

    /// Saves that the report of a crash is still to be written; call it before the end is accounted for.
    package func addPendingCrash() {
        pendingCrash = .random()
        emit(.stateChanged(isUrgent: false))
    }

    private func write(
        _ key: IncidentKey, _ incident: OpenIncident, postMortem: PostMortem? = nil, isRepeated: Bool = false
    ) {
        guard var facts = incident.facts, let capture = incident.capture else { return }
        incident.blocking?.complete(&facts.evidence)
        facts.trail = incident.blocking?.trail?.details
        if let gap = incident.blocking?.gap {
            facts.notes.append("What the main thread waits for was not examined: \(gap).")
        }
        // The writer now has the facts and the stacks.
        open[key] = OpenIncident(kind: incident.kind, pendingReport: incident.pendingReport, isBeingWritten: true)
        host.reportWriter.write(
            app: self.key, incident: key, facts: facts, host: host.facts, capture: capture,
            others: incident.others, trail: incident.blocking?.trailCapture, log: output.source,
            watch: incident.watch, postMortem: postMortem, isRepeated: isRepeated)
    }

    /// Handles the result of writing a report.
    package func reported(_ key: IncidentKey, _ outcome: ReportOutcome) {
        guard let incident = open.removeValue(forKey: key) else { return }
        if case .crash = key { pendingCrash = nil }
        if incident.pendingReport != nil || key == .crash { emit(.stateChanged(isUrgent: false)) }
        switch incident.kind {
        case .judged(let judged): onReport(judged, outcome)
        case .hang(let hang): onHangReport(hang, outcome)
        case .requested(_, let tell): tell(outcome)
        case .crash(let crash): onCrashReport(crash, outcome)
        }
    }

    // MARK: - Saved state

    /// Incidents whose reports are not written yet, with the ids of those reports.
    var pendingReports: [LaunchState.PendingReport] {
        open.values.compactMap { open in
            guard case .judged(let incident) = open.kind, let id = open.pendingReport else { return nil }
            return LaunchState.PendingReport(incident: incident, report: id)
        }.sorted { $0.incident.id < $1.incident.id }
    }

    /// The id of a crash report that is not written yet.
    package private(set) var pendingCrash: IncidentID?

    /// Takes over the reports that the previous watchdogd has not written.
    package func resume(_ reports: [LaunchState.PendingReport], crash: IncidentID?) {
        for pending in reports {
            open[.judged(pending.incident.id)] = OpenIncident(
                kind: .judged(pending.incident), pendingReport: pending.report)
        }
        pendingCrash = crash
    }

    /// Writes the pending reports without stacks, unless they exist.
    func repeatReports(_ record: LaunchRecord) {
        for pending in pendingReports where open[.judged(pending.incident.id)]?.isBeingWritten == false {
            report(pending.incident, record)
        }
    }
}
