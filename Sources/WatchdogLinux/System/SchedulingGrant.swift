// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The precedence over other programs that the calling thread got, so that deadlines are kept on a busy machine.
///
/// What the thread starts has none of it: the kernel resets the policy on fork, and
/// ``SpawnRequest/withdraw(_:)`` gives back the rest.
public struct SchedulingGrant: Hashable, Sendable, CustomStringConvertible {
    /// What was had.
    public enum Kind: Hashable, Sendable {
        /// `SCHED_RR`: runs as soon as there is something to do.
        case realTime(priority: Int32)
        /// A larger share.
        case niceness(Int32)
        /// Nothing, with the kernel's reason.
        case none(Errno)
    }

    /// What was had.
    public let kind: Kind
    /// What the thread's nice value was before.
    public let previousNiceness: Int32
    /// What the limit on real-time CPU time was before; nil when it was not changed.
    public let previousLimit: ResourceLimit?

    /// Asks for real-time scheduling at low priority, else for a nice value of −10, for the calling thread.
    ///
    /// A loop that computes for half a second without waiting loses its real-time policy, instead of keeping everything
    /// else from running.
    public static func request() -> SchedulingGrant {
        let niceness = wd_scheduling_niceness()
        let previousLimit = limitRealTime()
        guard wd_scheduling_set_real_time(1) != 0 else {
            return SchedulingGrant(
                kind: .realTime(priority: 1),
                previousNiceness: niceness,
                previousLimit: previousLimit
            )
        }
        let error = Errno.current
        try? previousLimit?.apply()
        let kind: Kind = wd_scheduling_set_niceness(-10) == 0 ? .niceness(-10) : .none(error)
        return SchedulingGrant(kind: kind, previousNiceness: niceness, previousLimit: nil)
    }

    /// Gives back what the next ``request()`` would otherwise take for what was there before, for a program that is about to
    /// be executed in this process.
    public func release() {
        try? previousLimit?.apply()
        if case .niceness = kind { _ = wd_scheduling_set_niceness(previousNiceness) }
    }

    /// True when the kernel took the real-time policy away again because the thread computed for too long.
    public static var wasWithdrawn: Bool { wd_scheduling_was_demoted() }

    /// "real-time (SCHED_RR, priority 1)".
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
        // Microseconds. At the hard limit the kernel kills: setrlimit(2).
        let soft = min(500_000, previous.hard)
        guard (try? ResourceLimit(.realTimeWithoutSleep, soft: soft, hard: previous.hard).apply()) != nil else {
            return nil
        }
        return previous
    }
}

extension SpawnRequest {
    /// Keeps the supervisor's precedence from the program: its nice value and limit are those from before.
    public mutating func withdraw(_ grant: SchedulingGrant) {
        if let limit = grant.previousLimit, !limits.contains(where: { $0.resource == limit.resource }) {
            limits.append(limit)
        }
        // The kernel has reset a negative value to 0; going below that again needs the right to.
        if niceness == nil, grant.previousNiceness > 0 || geteuid() == 0 { niceness = grant.previousNiceness }
    }
}
