// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

/// The facts of a launch that every report contains.
///
/// Isolation: the loop's thread.
struct IncidentScene {
    let host: Host
    @Shared private(set) var launch: LaunchConfiguration
    let tree: LaunchTree
    let evidence: LaunchEvidence

    init(host: Host, launch: Shared<LaunchConfiguration>, tree: LaunchTree, evidence: LaunchEvidence) {
        self.host = host
        _launch = launch
        self.tree = tree
        self.evidence = evidence
    }

    /// Whose limits the incidents of this launch count against.
    var tenant: Tenant { launch.tenant }

    /// Who should have answered the probes that an incident is about; nil if that is the judged process, or not known.
    func server(of incident: Incident) -> ServerEvidence? {
        let isProbed =
            switch incident.cause {
            case .probesFailed: true
            case .exhausted:
                // The launch ends with the answer to a probe.
                incident.event == .processLaunch && [.probe, .command].contains(launch.spec.readiness)
            default: false
            }
        guard isProbed, let server = evidence.server, server.thread.hasObservation else { return nil }
        let isOtherThread = server.pid == evidence.main.pid && server.thread.thread != evidence.main.thread
        let isOtherProcess = server.pid != tree.main?.pid && server.pid != tree.judged?.pid
        return isOtherThread || isOtherProcess ? server : nil
    }

    /// The facts that must be read before the process is gone.
    ///
    /// - Parameter server: the process that should have answered, if it is about that one.
    func facts(
        _ event: WatchdogEvent, _ exhaustion: IncidentFacts.Exhaustion, allowance: Duration, elapsed: Duration,
        _ details: HangEvidence, isAboutEnd: Bool = false, about server: ServerEvidence? = nil
    ) -> IncidentFacts {
        // The end is that of the main process, whoever answered.
        let process = isAboutEnd ? tree.main?.pid : server?.pid ?? tree.judged?.pid
        let now = Instant.now()
        let launched = tree.launched
        var facts = IncidentFacts(
            id: .random(),
            event: event,
            exhaustion: exhaustion,
            allowance: allowance,
            elapsed: elapsed,
            appName: launch.name,
            pid: Int(process ?? tree.pid ?? 0),
            executablePath: process.flatMap { ProcessFacts.executable($0) } ?? launch.executable,
            userID: Int(launch.tenant.user),
            parentName: launch.observed?.parentName ?? "watchdogd",
            parentPID: Int(launch.observed?.parent ?? getpid()),
            launchTime: launched?.time ?? .now(),
            captureTime: .now(),
            launchInstant: launched?.instant ?? now,
            captureInstant: now,
            evidence: details
        )
        facts.appVersion = launch.version
        facts.link = launch.link
        facts.visibility = .foreground
        facts.watchdogVisibility = .foreground
        facts.enforcement = .report
        if let server {
            facts.attribute(to: server, under: Int(tree.pid ?? 0))
        } else if let process, let main = tree.main, process != main.pid {
            facts.attribute(to: process, under: main.pid)
        }
        guard server == nil else { return facts }
        if process == evidence.main.pid { facts.mainThread = evidence.main.thread.map { Int($0) } }
        if let thread = facts.mainThread, thread != facts.pid {
            facts.notes.append("The main loop last answered on thread \(thread), not on the process's first.")
        }
        return facts
    }

    /// The facts as observed when the incident was decided, or as saved if the previous watchdogd decided it.
    func facts(of incident: Incident) -> IncidentFacts {
        let isSeen = evidence.main.hasObservation
        let server = server(of: incident)
        var facts = facts(
            incident.event, incident.exhaustion, allowance: incident.allowance,
            elapsed: (isSeen ? .now() : incident.decidedAt) - incident.startedAt,
            isSeen && incident.evidence != nil ? details(of: server) : savedDetails(of: incident), about: server)
        facts.credit = incident.credit
        facts.extended = incident.extended
        facts.paused = incident.paused
        facts.code = incident.code
        facts.visibility = incident.visibility == .foreground ? .foreground : .background
        facts.watchdogVisibility = facts.visibility
        facts.processState = incident.isSuspended ? .suspended : .running
        facts.enforcement = incident.isEnforced ? .kill : .report
        facts.missed = incident.missed
        if incident.rebases > 0 {
            facts.notes.insert(
                "The allowance was restarted \(incident.rebases) times because watchdogd itself did not run.", at: 0)
        }
        if incident.evidence == nil {
            facts.notes.append("The process could not be inspected when the allowance was exhausted.")
        }
        return facts
    }

    /// The results of the last examination.
    var details: HangEvidence { details(of: nil) }

    private func details(of server: ServerEvidence?) -> HangEvidence {
        (server?.thread ?? evidence.main).details(isStoppedByUs: tree.isStoppedByUs)
    }

    private func savedDetails(of incident: Incident) -> HangEvidence {
        var result = HangEvidence(processorCount: host.facts.processorCount)
        guard !evidence.main.hasObservation, let saved = incident.evidence else { return result }
        result.window = incident.decidedAt - incident.windowStart
        result.runTime = saved.runTime
        result.runDelay = saved.runDelay
        result.state = saved.state
        result.tracer = Int(saved.tracer ?? 0)
        result.isFrozen = saved.isFrozen
        return result
    }

    /// Adds what is known only when the incident is over, or can wait until then so as not to delay SIGKILL.
    ///
    /// - Parameter incident: the machine's incident; nil if the machine did not decide one.
    func complete(_ facts: inout IncidentFacts, _ record: LaunchRecord, of incident: Incident? = nil) {
        facts.arguments = launch.arguments.map(\.description)
        if let observed = launch.observed {
            facts.notes.append("watchdogd only observes this process, which was started \(observed.owner).")
        } else {
            facts.environment = launch.environment.dictionary
        }
        if facts.missed?.kind == .probe { facts.missed?.add(record.failedProbes.details(until: facts.captureInstant)) }
        facts.cgroup = tree.cgroup?.path
        facts.faults = evidence.faults
        facts.status = record.account.status
        facts.summary = record.account.summary
        facts.exitStatus = record.account.exitStatus
        facts.lifecycle = LifecycleDetails(
            record.lifecycle, of: incident, at: incident?.decidedAt ?? .now(), launchedAt: facts.launchInstant)
        facts.launch = record.launchedAt.flatMap {
            LaunchDetails(
                record.trace, launchedAt: $0, ready: record.launchDuration,
                until: incident?.decidedAt ?? facts.captureInstant)
        }
        facts.allowanceBegan = record.launchedAt.flatMap { launchedAt in incident.map { $0.startedAt - launchedAt } }
        if launch.observed == nil {
            facts.pings = record.account.pingSummary(
                until: facts.captureInstant, last: record.lastPingSent, slowest: record.slowestPing)
        }
        facts.kill =
            switch incident?.isDeathVerified {
            case nil: .none
            case true?: .verified(after: .now() - (incident?.decidedAt ?? .now()))
            case false?: .unkillable(tree.survivors)
            }
    }
}

extension Incident {
    fileprivate var missed: MissedDetails? {
        guard case .probesFailed(let probes) = cause else { return awaited.map { MissedDetails(.readiness, of: $0) } }
        var failure: String?
        if case .failed(let reason) = probes.last { failure = reason }
        return MissedDetails(.probe, of: probes.target, failure: failure, count: probes.count)
    }

    fileprivate var exhaustion: IncidentFacts.Exhaustion {
        switch (cause, event) {
        case (.triggered, _): .triggered
        case (.launchCPUTime, _), (.backgroundCPUTime, _): .cpuTime
        case (.backgroundTasks, _): .backgroundTask
        case (.tooManyTasks, _): .taskCount
        case (.lockedFiles, _): .lockedFiles
        case (.exhausted, .processExit): .termination
        case (.exhausted, _), (.probesFailed, _): .wallClock
        }
    }
}

extension IncidentFacts {
    /// Makes the facts about the thread that should have answered a probe.
    fileprivate mutating func attribute(to process: ServerEvidence, under main: Int) {
        let thread = process.thread.thread ?? process.pid
        mainThread = thread == process.pid ? nil : Int(thread)
        server = ServerDetails(name: process.name, hasAccepted: process.hasAccepted, mainProcess: main)
        let deed = process.hasAccepted ? "has accepted the connection of the probe" : "should have accepted the probe"
        let serves = "thread \(thread), which does what its clients wait for"
        guard Int(process.pid) != main else {
            notes.append("The report is about \(serves): the process \(deed), and its main thread is not held up.")
            return
        }
        parentPID = Int(process.parent)
        parentName = ProcessStat.read(process.parent)?.name ?? "unknown"
        notes.append(
            "The report is about process \(process.pid) \"\(process.name)\", which \(deed); "
                + "the program's main process is \(main).")
        if thread != process.pid { notes.append("Of its threads, the report is about \(serves).") }
    }

    /// Makes the facts about a process other than the main process.
    fileprivate mutating func attribute(to process: Int32, under main: Int32) {
        guard let stat = ProcessStat.read(process) else { return }
        parentPID = Int(stat.parent)
        parentName = ProcessStat.read(stat.parent)?.name ?? "unknown"
        notes.append(
            "The report is about process \(process) \"\(stat.name)\", which answers pings; "
                + "the program's main process is \(main).")
    }
}
