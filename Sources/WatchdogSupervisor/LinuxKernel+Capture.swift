// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension LinuxKernel {
    func capture(_ incident: Incident) {
        facts[incident.id] = makeFacts(incident)
        if incident.cause != .requested, let watch = takeWatch() {
            watches[incident.id] = watch
            facts[incident.id]?.samplesBegan = watch.began - incident.startedAt
        }
        guard let main else {
            captured(incident.id, .failed("there is no process"))
            return
        }
        var options = SnapshotOptions(pidfd: main.process.descriptor.number, startTime: main.startTime)
        if incident.isEnforced {
            options.ending = .kill(
                controlGroup: cgroup?.killDescriptor?.number,
                processGroup: main.process.pid
            )
        }
        let mailbox = host.mailbox
        let key = key
        let id = incident.id
        host.captureBegan()
        let isAccepted = host.captureThread.capture(main.process.pid, options) { result in
            let outcome: CaptureOutcome =
                switch result {
                case .success(let snapshot): .taken(snapshot)
                case .failure(let error): .failed("\(error)")
                }
            mailbox.post(.captured(app: key, incident: id, outcome))
        }
        // Read while the snapshot is being taken; nothing in it is the process's own.
        facts[incident.id]?.cpu = cpuStatistics()
        guard !isAccepted else { return }
        host.captureEnded()
        captured(id, .failed("too many captures are waiting"))
    }

    func captured(_ incident: Int, _ outcome: CaptureOutcome) {
        if finishRequestedCapture(incident, outcome) { return }
        captures[incident] = outcome
        // One that has outlived its budget ends late, and must not pass for the one after it.
        guard case .capturing(let current) = supervisor?.machine.phase, current.id == incident else {
            captures[incident] = nil
            return
        }
        supervisor?.captureEnded()
    }

    func report(_ incident: Incident) {
        let isRepeated = facts[incident.id] == nil
        var facts = facts.removeValue(forKey: incident.id) ?? makeFacts(incident)
        if let owed = owed[incident.id] { facts.id = owed.report }
        complete(&facts, for: incident)
        let reason = isRepeated ? "watchdogd itself was restarted meanwhile" : "they were not taken in time"
        let capture = captures.removeValue(forKey: incident.id) ?? .failed(reason)
        pendingReports[incident.id] = incident
        host.reportWriter.write(
            app: key, incident: incident.id, facts: facts, host: host.facts, capture: capture, log: logSource,
            watch: watches.removeValue(forKey: incident.id), isRepeated: isRepeated)
    }

    func reported(_ incident: Int, _ outcome: ReportOutcome) {
        guard let incident = pendingReports.removeValue(forKey: incident) else { return }
        if tellRequestedCapture(incident.id, outcome) { return }
        settleReport(of: incident.id)
        onReport(incident, outcome)
    }

    // MARK: - Facts

    /// What has to be read before the process is gone.
    func makeFacts(_ incident: Incident) -> IncidentFacts {
        let pid = pid ?? 0
        let now = now
        var facts = IncidentFacts(
            id: .random(),
            event: incident.event,
            exhaustion: incident.exhaustion,
            allowance: incident.allowance,
            elapsed: (lastObservation == nil ? incident.decidedAt : now) - incident.startedAt,
            appName: configuration.name,
            pid: Int(pid),
            executablePath: main.flatMap { ProcessFacts.executable($0.process.pid) } ?? configuration.executable,
            userID: Int(configuration.credentials?.user ?? host.userID),
            parentName: "watchdogd",
            parentPID: Int(getpid()),
            launchTime: main?.launchTime ?? formerProcess?.launchTime ?? .current(),
            captureTime: .current(),
            launchInstant: main?.launchedAt ?? formerProcess?.launchedAt ?? now,
            captureInstant: now,
            evidence: lastObservation == nil ? rememberedEvidence(of: incident) : hangEvidence(incident.evidence)
        )
        if incident.cause == .requested { facts.kind = .capture }
        facts.mainThread = main?.probe.map { Int($0.thread) }
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
            facts.notes.append(
                "The allowance was started anew \(incident.rebases) times because watchdogd itself did not run.")
        }
        if let thread = facts.mainThread, thread != facts.pid {
            facts.notes.append("The main loop last answered on thread \(thread), not on the process's first.")
        }
        if incident.evidence == nil {
            facts.notes.append("The process could not be looked at when the allowance was exhausted.")
        }
        return facts
    }

    /// What is known only when the incident is over, or can wait until then: SIGKILL waits for ``makeFacts(_:)``.
    func complete(_ facts: inout IncidentFacts, for incident: Incident) {
        facts.arguments = configuration.arguments.map(\.description)
        facts.environment = configuration.environment.dictionary
        facts.cgroup = cgroup?.path
        if let supervisor {
            let account = supervisor.account
            facts.status = account.status
            facts.summary = account.summary
            facts.exitStatus = account.exitStatus
            facts.lifecycle = LifecycleDetails(
                supervisor.machine.lifecycleRecord, at: incident, launchedAt: facts.launchInstant)
            facts.pings = account.pingSummary(
                until: facts.captureInstant, last: supervisor.machine.lastPingSent,
                slowest: supervisor.machine.pings.count > 0 ? supervisor.machine.pings.maximum : nil)
        }
        facts.kill =
            switch incident.isDeathVerified {
            case nil: .none
            case true?: .verified(after: now - incident.decidedAt)
            case false?: .unkillable(containment?.survivors().map { Int($0.pid) } ?? [])
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
        case (.requested, _): .requested
        case (.launchCPUTime, _), (.backgroundCPUTime, _): .cpuTime
        case (.backgroundTasks, _): .backgroundTask
        case (.tooManyTasks, _): .taskCount
        case (.lockedFiles, _): .lockedFiles
        case (.exhausted, .processExit): .termination
        case (.exhausted, _), (.probesFailed, _): .wallClock
        }
    }
}
