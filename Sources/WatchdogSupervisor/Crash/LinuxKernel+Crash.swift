// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension LinuxKernel {
    /// Begins to write the report of an end that nobody asked for; ends in ``onCrashReport``.
    ///
    /// The machine is not asked: nothing is decided by it any more.
    func reportCrash(_ crash: Crash) {
        lastRequestedCapture -= 1
        let incident = Incident(requestedAs: lastRequestedCapture, at: now, evidence: nil)
        lastObservation = nil
        var facts = makeFacts(incident)
        let isRepeated = owedCrash != nil
        facts.id = owedCrash ?? facts.id
        settleCrash(facts.id)
        facts.kind = .crash
        facts.event = supervisor?.machine.launchDuration == nil ? .processLaunch : .sceneUpdate
        facts.exhaustion = .ended
        facts.allowance = .zero
        facts.elapsed = facts.captureInstant - facts.launchInstant
        facts.executablePath = configuration.executable
        facts.evidence = HangEvidence(processorCount: host.facts.processorCount)
        facts.enforcement = configuration.spec.enforcement == .kill ? .kill : .report
        facts.mainThread = nil
        facts.notes = []
        complete(&facts, for: incident)
        facts.kill = .none
        facts.exitStatus = crash.status
        facts.crash = CrashDetails(crash)
        let kills = cgroup?.memoryKills
        facts.crash?.memoryKills = kills
        facts.crash?.recentMemoryKills = kills.flatMap { memoryKillNotes.recent(of: $0, at: now) }
        pendingReports[incident.id] = incident
        requestedCaptures[incident.id] = { [unowned self] outcome in
            settleCrash(nil)
            onCrashReport(crash, outcome)
        }
        host.reportWriter.write(
            app: key, incident: incident.id, facts: facts, host: host.facts, capture: .failed("it had ended"),
            log: logSource, postMortem: postMortem(facts), isRepeated: isRepeated)
    }

    private func postMortem(_ facts: IncidentFacts) -> PostMortem {
        let own = configuration.workingDirectory ?? workingDirectoryOfOurs
        return PostMortem(
            process: Int32(clamping: facts.pid), user: UInt32(clamping: facts.userID),
            launchedAt: facts.launchInstant, launched: facts.launchTime.seconds,
            directories: [lastWorkingDirectory, own, "/"].compactMap(\.self),
            removesCore: configuration.takesCrashStacks && configuration.ownCoreLimit == nil,
            isAsked: configuration.takesCrashStacks,
            coreLimit: configuration.coreLimit?.soft)
    }

    private var workingDirectoryOfOurs: String? { ProcessFacts.workingDirectory(getpid()) }

    /// Remembers how often the kernel has killed for want of memory: what was before is not the app's end.
    func noteMemoryKills() {
        let now = now
        guard memoryKillNotes.isDue(at: now) else { return }
        memoryKillNotes.note(cgroup?.memoryKills, at: now)
    }

    /// Whether the app's end may have been the kernel's doing, because memory was short.
    var mayHaveEndedForMemory: Bool {
        guard let count = cgroup?.memoryKills, count > 0 else { return false }
        return memoryKillNotes.recent(of: count, at: now) != 0
    }

    /// Remembers where the program is: a core file lies there, and nothing tells it afterwards.
    func noteWorkingDirectory() {
        guard configuration.spec.crashReports != nil, let pid else { return }
        lastWorkingDirectory = ProcessFacts.workingDirectory(pid) ?? lastWorkingDirectory
    }
}

extension LaunchConfiguration {
    /// The limit on core files that the app's configuration has.
    var ownCoreLimit: ResourceLimit? { attributes.limits.last { $0.resource == .core } }

    /// The limit on core files that the program gets: its own, or watchdogd's, raised where stacks are wanted.
    ///
    /// Only what watchdogd itself may write: without privileges the hard limit stays.
    var coreLimit: ResourceLimit? {
        if let ownCoreLimit { return ownCoreLimit }
        guard let limit = try? ResourceLimit.current(.core) else { return nil }
        return takesCrashStacks ? ResourceLimit(.core, soft: limit.hard, hard: limit.hard) : limit
    }
}
