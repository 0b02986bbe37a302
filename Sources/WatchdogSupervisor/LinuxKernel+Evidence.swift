// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// What was read when an allowance started: evidence is the difference to it.
struct Window {
    let start: ProcessProbe.Usage
    let machine: MachineCPU?
}

extension LinuxKernel {
    var suspendedTime: Duration { SuspendedTime.now() }

    func followMainLoop(to thread: Int32?) {
        guard let main, thread ?? main.process.pid != main.probe?.thread else { return }
        // The thread may be gone, or never have been the app's: then the one before is as good as any.
        guard let probe = try? ProcessProbe(main.process.pid, thread: thread) else { return }
        self.main?.probe = probe
    }

    func beginWindow() {
        window = main?.probe.map { probe in
            // A hundredth of the allowance: so much may the machine's figure be older than the process's.
            let precision = configuration.spec.allowances.update / 100
            return Window(start: probe.usage(), machine: host.machineCPU(notOlderThan: precision))
        }
    }

    func inspect() -> Evidence {
        let observation = main?.probe?.observe()
        lastObservation = observation
        guard let observation else { return Evidence(state: nil) }
        return Evidence(
            state: observation.state.letter.first,
            tracer: observation.tracer,
            isFrozen: cgroup?.isFrozen ?? false,
            isDumpingCore: observation.isDumpingCore,
            runTime: difference(observation.schedule?.runTime, window?.start.schedule?.runTime) ?? .zero,
            runDelay: runDelay(observation) ?? .zero
        )
    }

    /// The kernel adds a wait for a CPU to the run delay when it is over.
    ///
    /// A thread that is runnable and has not been given a CPU since the window began has waited for it all the time,
    /// and no counter shows it.
    private func runDelay(_ observation: ProcessProbe.Observation) -> Duration? {
        guard let window, let start = window.start.schedule, let end = observation.schedule else { return nil }
        if observation.state == .running, start.timeslices == end.timeslices, start.runTime == end.runTime {
            return observation.at - window.start.at
        }
        return difference(end.runDelay, start.runDelay)
    }

    private func difference(_ end: Duration?, _ start: Duration?) -> Duration? {
        guard let end, let start else { return nil }
        return max(.zero, end - start)
    }

    /// The evidence of an incident in full; nil stands for what could not be read.
    func hangEvidence(_ evidence: Evidence?) -> HangEvidence {
        var result = HangEvidence(processorCount: host.facts.processorCount)
        guard evidence != nil, let observation = lastObservation else { return result }
        if let window {
            result.window = observation.at - window.start.at
            result.runTime = difference(observation.schedule?.runTime, window.start.schedule?.runTime)
            result.runDelay = runDelay(observation)
        }
        result.state = observation.state.letter.first
        result.tracer = Int(observation.tracer ?? 0)
        // What we did ourselves is no evidence of what the app did.
        result.isFrozen = freezer.isOn ? nil : cgroup?.isFrozen
        result.syscall = observation.syscall
        result.waitChannel = observation.waitChannel
        result.waits = waits(observation)
        return result
    }

    /// What the main thread was blocked on when it was looked at, if it still is.
    private func waits(_ observation: ProcessProbe.Observation) -> [WaitDetails] {
        guard let main, let probe = main.probe, let syscall = observation.syscall,
            observation.state == .sleeping || observation.state == .uninterruptible
        else { return [] }
        let look = WaitLook { [cgroup] in cgroup?.processes() ?? WaitLook.processes(from: main.process.pid) }
        return look.chain(process: main.process.pid, thread: probe.thread, syscall: syscall).map { $0.details } ?? []
    }

    func cpuStatistics() -> CPUStatistics? {
        guard let window, let before = window.machine, let after = MachineCPU.read(), let observation = lastObservation
        else { return nil }
        return CPUStatistics(
            systemUser: max(.zero, after.userTime - before.userTime),
            systemKernel: max(.zero, after.systemTime - before.systemTime),
            application: max(.zero, observation.processCPUTime - window.start.processCPUTime),
            elapsed: observation.at - window.start.at
        )
    }
}
