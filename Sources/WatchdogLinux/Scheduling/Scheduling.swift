// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// How the calling thread is scheduled: a supervisor that waits for a CPU is late with every deadline.
public enum Scheduling: Hashable, Sendable, CustomStringConvertible {
    /// SCHED_RR: before every ordinary thread.
    case realtime
    /// A negative nice value.
    case favoured(niceness: Int32)
    /// Like everybody else.
    case ordinary

    /// Asks for the best that is allowed: SCHED_RR, else nice −10, else nothing.
    ///
    /// No child inherits SCHED_RR (SCHED_RESET_ON_FORK); a nice value is inherited unless the spawn request sets one.
    /// A thread that runs for two seconds without blocking loses SCHED_RR.
    public static func improve() -> Scheduling {
        if wd_become_realtime(2_000_000) == 0 { return .realtime }
        let niceness: Int32 = -10
        // setpriority takes its first argument as an enumeration in glibc; 0 is PRIO_PROCESS.
        return setpriority(__priority_which_t(0), 0, niceness) == 0 ? .favoured(niceness: niceness) : .ordinary
    }

    /// "SCHED_RR", "nice -10", "ordinary".
    public var description: String {
        switch self {
        case .realtime: "SCHED_RR"
        case .favoured(let niceness): "nice \(niceness)"
        case .ordinary: "ordinary"
        }
    }
}
