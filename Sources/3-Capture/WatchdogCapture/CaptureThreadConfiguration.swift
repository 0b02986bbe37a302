// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The resources of a ``CaptureThread``.
public struct CaptureThreadConfiguration: Sendable, Equatable {
    /// The scheduling of the thread.
    public enum Scheduling: Sendable, Equatable {
        /// The scheduling of the thread that creates it.
        case inherited
        /// With this nice value, if permitted.
        case niceness(Int32)
        /// Ahead of all ordinary threads, with this real-time priority, if permitted; not inherited by children.
        ///
        /// A capture of thousands of threads computes for a tenth of a second without sleeping, which RLIMIT_RTTIME
        /// must allow.
        case realTime(priority: Int32)
    }

    /// The maximum number of waiting captures.
    public var queueLimit: Int
    /// The number of bytes of stack memory that stay resident, so that a capture causes no page faults while the
    /// process is frozen.
    public var residentBytes: Int
    /// The scheduling of the thread.
    public var scheduling: Scheduling
    /// The maximum number of concurrent captures while others wait.
    public var width: Int
    /// The limits of a capture for the other processes of an app.
    var treeLimits = TreeLimits()
    /// The time limit of a look at processes outside of an app.
    var trailTime = TrailCapture.time

    /// Creates a configuration; the defaults suit processes with up to a thousand threads.
    public init(
        queueLimit: Int = 64, residentBytes: Int = 4 << 20, scheduling: Scheduling = .inherited, width: Int = 1
    ) {
        self.queueLimit = queueLimit
        self.residentBytes = residentBytes
        self.scheduling = scheduling
        self.width = width
    }
}

extension CaptureThreadConfiguration.Scheduling {
    /// Applies the scheduling to the calling thread, which is thread 0 for sched_setscheduler(2) and setpriority(2).
    func apply() {
        switch self {
        case .inherited:
            break
        case .niceness(let value):
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, value)
        case .realTime(let priority):
            var parameters = sched_param()
            parameters.sched_priority = priority
            let resetOnFork: Int32 = 0x4000_0000  // SCHED_RESET_ON_FORK of <linux/sched.h>
            sched_setscheduler(0, SCHED_RR | resetOnFork, &parameters)
        }
    }
}
