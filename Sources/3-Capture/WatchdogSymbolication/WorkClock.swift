// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// A clock that stops while the process it follows waits for a CPU.
///
/// On a busy machine, a result therefore comes later but has the same detail. Sleep counts, because a hung disk must
/// not extend the work. Without `/proc`, the clock is `CLOCK_MONOTONIC`.
///
/// Isolation: used in one process at a time; a child continues with a copy.
final class WorkClock {
    /// The waits of processes followed earlier, minus the current one's waits from before it was followed.
    private var credited = Duration.zero
    private var schedule: OwnedDescriptor?

    /// The current time.
    func now() -> Instant { Instant.now() - credited - waited }

    /// Follows a single-threaded process.
    ///
    /// The file is opened now, because a confined process could not open it later.
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

    /// The time that the process has waited for a CPU since it started.
    private var waited: Duration {
        guard let schedule else { return .zero }
        let line = [UInt8](unsafeUninitializedCapacity: 128) { buffer, count in
            count = max(0, pread(schedule.number, buffer.baseAddress, buffer.count, 0))
        }
        return ThreadSchedule(parsing: line)?.runDelay ?? .zero
    }
}
