// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// What was read when an allowance started: evidence is the difference to it.
struct Window {
    let start: Instant
    let schedule: ThreadSchedule?
    let applicationTime: Duration
    let systemTime: SystemTime?
}

extension LinuxKernel {
    var suspendedTime: Duration { WatchdogLinux.suspendedTime() }

    func beginWindow() {
        guard let main else { return }
        window = Window(
            start: now,
            schedule: main.observation.schedule(),
            applicationTime: main.observation.cpuTime() ?? .zero,
            systemTime: .read()
        )
    }

    func inspect() -> Evidence {
        guard let main else { return Evidence(state: nil) }
        let schedule = main.observation.schedule()
        return Evidence(
            state: main.observation.state(),
            tracer: main.observation.tracer(),
            isFrozen: containment.isFrozen,
            runTime: difference(schedule?.runTime, window?.schedule?.runTime),
            runDelay: difference(schedule?.runDelay, window?.schedule?.runDelay)
        )
    }

    private func difference(_ end: Duration?, _ start: Duration?) -> Duration {
        guard let end, let start else { return .zero }
        return max(.zero, end - start)
    }

    /// The evidence of an incident in full, read while the process still is what it was.
    func hangEvidence(_ evidence: Evidence?) -> HangEvidence {
        var result = HangEvidence(processorCount: configuration.host.processorCount)
        result.window = window.map { now - $0.start }
        result.runTime = evidence?.runTime
        result.runDelay = evidence?.runDelay
        result.state = evidence?.state
        result.tracer = evidence.map { Int($0.tracer ?? 0) }
        result.isFrozen = evidence?.isFrozen
        result.syscall = main?.observation.systemCall()
        result.waitChannel = main?.observation.waitChannel()
        return result
    }

    func cpuStatistics() -> CPUStatistics? {
        guard let main, let window, let before = window.systemTime, let after = SystemTime.read() else { return nil }
        return CPUStatistics(
            systemUser: max(.zero, after.user - before.user),
            systemKernel: max(.zero, after.system - before.system),
            application: max(.zero, (main.observation.cpuTime() ?? window.applicationTime) - window.applicationTime),
            elapsed: now - window.start
        )
    }
}
