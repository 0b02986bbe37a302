// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The scheduling precedence that the calling thread has been granted, so that deadlines are kept on a busy machine.
///
/// Programs do not inherit it, because the launcher was started before.
public struct SchedulingGrant: Hashable, Sendable, CustomStringConvertible {
    /// What was granted.
    public enum Kind: Hashable, Sendable {
        /// `SCHED_RR`: runs as soon as there is work.
        case realTime(priority: Int32)
        /// A larger share of CPU time.
        case niceness(Int32)
        /// Nothing, with the kernel's reason.
        case none(Errno)
    }

    /// What was granted.
    public let kind: Kind
    /// The thread's previous nice value.
    public let previousNiceness: Int32
    /// The previous limit on real-time CPU time; nil if it was not changed.
    public let previousLimit: ResourceLimit?

    /// The real-time priority of watchdogd's threads, which precede those that it hastens to a stop.
    public static let priority = Int32(WD_PRECEDENCE)

    /// Requests real-time scheduling at low priority, or else a nice value of −10, for the calling thread.
    ///
    /// A loop that computes for half a second without waiting loses its real-time policy, so that it cannot keep
    /// everything else from running.
    public static func request() -> SchedulingGrant {
        let niceness = wd_scheduling_niceness()
        let previousLimit = limitRealTime()
        guard wd_scheduling_set_real_time(priority) != 0 else {
            return SchedulingGrant(
                kind: .realTime(priority: priority),
                previousNiceness: niceness,
                previousLimit: previousLimit
            )
        }
        let error = Errno.current
        try? previousLimit?.apply()
        let kind: Kind = wd_scheduling_set_niceness(-10) == 0 ? .niceness(-10) : .none(error)
        return SchedulingGrant(kind: kind, previousNiceness: niceness, previousLimit: nil)
    }

    /// Restores the previous values, for a program that is about to be executed in this process and may call
    /// ``request()`` itself.
    public func release() {
        try? previousLimit?.apply()
        if case .niceness = kind { _ = wd_scheduling_set_niceness(previousNiceness) }
    }

    /// Whether the kernel withdrew the real-time policy because the thread computed for too long.
    public static var wasWithdrawn: Bool { wd_scheduling_was_demoted() }

    /// "real-time (SCHED_RR, priority 2)".
    public var description: String {
        switch kind {
        case .realTime(let priority): "real-time (SCHED_RR, priority \(priority))"
        case .niceness(let niceness): "nice \(niceness)"
        case .none(let error): "ordinary: \(error)"
        }
    }

    private static func limitRealTime() -> ResourceLimit? {
        guard wd_scheduling_demote_on_limit() == 0,
            let previous = try? ResourceLimit.current(.realTimeWithoutSleep)
        else { return nil }
        // Microseconds. At the hard limit the kernel kills the process: setrlimit(2).
        let soft = min(500_000, previous.hard)
        guard (try? ResourceLimit(.realTimeWithoutSleep, soft: soft, hard: previous.hard).apply()) != nil else {
            return nil
        }
        return previous
    }
}
