// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Measures the CPU time that was not used by the measurement.
package struct NoiseMeter {
    private let begin = Instant.now()
    private let cpu = MachineCPU.read()
    private let own = NoiseMeter.ownTime()

    /// Begins to measure.
    package init() {}

    /// The noise since this value was created; nil without `/proc`.
    package func noise() -> MachineNoise? {
        guard let cpu, let now = MachineCPU.read() else { return nil }
        return MachineNoise(
            busy: now.busyTime - cpu.busyTime, own: Self.ownTime() - own, stolen: now.stolenTime - cpu.stolenTime,
            capacity: (.now() - begin) * Machine.processorCount)
    }

    /// The CPU time of this process and of all that it has reaped.
    private static func ownTime() -> Duration {
        [RUSAGE_SELF, RUSAGE_CHILDREN].reduce(.zero) { sum, who in
            var usage = rusage()
            getrusage(__rusage_who_t(who.rawValue), &usage)
            return [usage.ru_utime, usage.ru_stime].reduce(sum) {
                $0 + .seconds($1.tv_sec) + .microseconds($1.tv_usec)
            }
        }
    }
}
