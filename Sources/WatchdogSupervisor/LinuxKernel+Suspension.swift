// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy

/// How far the app's processes are stopped by us.
struct Freezer {
    /// Whether they are to be stopped.
    var isOn = false
    /// Until the next look whether they are.
    var step = Duration.zero
    var timer: Timer?
}

extension LinuxKernel {
    /// Steps between two looks: a cgroup is frozen within a millisecond, unless one of its processes waits for a device.
    private static let freezerSteps = Duration.milliseconds(1)...Duration.milliseconds(50)

    func freeze() {
        freezer.isOn = true
        freezer.step = Self.freezerSteps.lowerBound
        try? containment?.suspend()
        lookAtFreezer()
    }

    func thaw() {
        freezer.isOn = false
        freezer.timer?.arm(at: nil)
        try? containment?.resume()
    }

    /// For as long as it takes: the policy decides how long it waits, and hears of locks afterwards, too.
    private func lookAtFreezer() {
        guard freezer.isOn, let containment else { return }
        guard containment.isSuspended else {
            if freezer.timer == nil {
                freezer.timer = try? loop.timer { [unowned self] _ in lookAtFreezer() }
            }
            freezer.timer?.arm(at: now + freezer.step)
            freezer.step = min(freezer.step * 2, Self.freezerSteps.upperBound)
            return
        }
        supervisor?.frozen(locks: HeldLocks.find(in: containment.processes()))
    }

    /// The part of the time since the launch in which the main thread neither ran nor waited for a CPU, from 0 to 1.
    func mainThreadBlockedShare(of duration: Duration) -> Double? {
        guard duration > .zero, let schedule = main?.probe?.usage().schedule else { return nil }
        let busy = schedule.runTime + schedule.runDelay
        return max(0, min(1, 1 - Double(busy.nanoseconds) / Double(duration.nanoseconds)))
    }

    func resourceUse() -> ResourceUse? {
        guard let main, let cpuTime = containment?.cpuTime else { return nil }
        return ResourceUse(cpuTime: cpuTime, runDelay: main.probe?.usage().schedule?.runDelay ?? .zero)
    }
}
