// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// A clock that stops while the process it follows waits for a CPU.
///
/// On a busy machine, a result therefore comes later but contains as much. Time asleep counts: a disk that does not
/// respond must not extend the work. Without `/proc`, the clock is `CLOCK_MONOTONIC`.
///
/// Isolation: used in one process at a time; a child continues with a copy.
final class WorkClock {
    /// What the processes that were followed earlier waited, less what this one had waited before.
    private var credited = Duration.zero
    private var schedule: OwnedDescriptor?

    /// The current time.
    func now() -> Instant { Instant.now() - credited - waited }

    /// Follows a process with one thread, which may no longer open this file once it is confined.
    func follow(_ process: pid_t) {
        leave()
        schedule = try? OwnedDescriptor(opening: "/proc/\(process)/schedstat", flags: O_RDONLY)
        credited -= waited
    }

    /// Stops following the process; call it before the process is reaped.
    func leave() {
        credited += waited
        schedule = nil
    }

    /// How long the process has waited since it began.
    private var waited: Duration {
        guard let schedule else { return .zero }
        let line = [UInt8](unsafeUninitializedCapacity: 128) { buffer, count in
            count = max(0, pread(schedule.number, buffer.baseAddress, buffer.count, 0))
        }
        return ThreadSchedule(parsing: line)?.runDelay ?? .zero
    }
}
