// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

extension IncidentScene {
    /// The facts of an unexpected end.
    func facts(of crash: Crash, _ record: LaunchRecord) -> IncidentFacts {
        evidence.main.forgetObservation()
        var facts = facts(
            record.wasReady ? .sceneUpdate : .processLaunch, .ended, allowance: .zero, elapsed: .zero,
            HangEvidence(processorCount: host.facts.processorCount), isAboutEnd: true)
        facts.kind = .crash
        facts.elapsed = facts.captureInstant - facts.launchInstant
        facts.executablePath = launch.link?.file ?? launch.executable
        facts.enforcement = launch.spec.enforcement == .kill ? .kill : .report
        facts.mainThread = nil
        facts.notes = []
        complete(&facts, record)
        facts.exitStatus = crash.status
        facts.crash = CrashDetails(crash)
        let kills = evidence.memoryKills
        facts.crash?.memoryKills = kills?.total
        facts.crash?.recentMemoryKills = kills?.recent
        return facts
    }

    /// The search for what the process left.
    func postMortem(_ facts: IncidentFacts) -> PostMortem {
        let own = launch.workingDirectory ?? ProcessFacts.workingDirectory(getpid())
        return PostMortem(
            process: Int32(clamping: facts.pid), user: UInt32(clamping: facts.userID),
            launchedAt: facts.launchInstant, launched: facts.launchTime.seconds,
            directories: [evidence.workingDirectory, own, "/"].compactMap(\.self),
            removesCore: launch.takesCrashStacks && launch.ownCoreLimit == nil,
            isAsked: launch.takesCrashStacks,
            coreLimit: launch.coreLimit?.soft)
    }
}

extension LaunchConfiguration {
    /// The core-file limit in the app's configuration.
    var ownCoreLimit: ResourceLimit? { attributes.limits.last { $0.resource == .core } }

    /// The core-file limit that the program gets: its own, or watchdogd's, raised if stacks are wanted.
    ///
    /// It is raised only to the hard limit, which watchdogd cannot exceed without privileges.
    var coreLimit: ResourceLimit? {
        if let ownCoreLimit { return ownCoreLimit }
        guard let limit = try? ResourceLimit.current(.core) else { return nil }
        return takesCrashStacks ? ResourceLimit(.core, soft: limit.hard, hard: limit.hard) : limit
    }
}
