// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What a ``CaptureThread`` may use.
public struct CaptureThreadConfiguration: Sendable, Equatable {
    /// When the thread gets a CPU.
    public enum Scheduling: Sendable, Equatable {
        /// As its creator.
        case inherited
        /// With this nice value, where permitted.
        case niceness(Int32)
        /// Before all ordinary threads, with this real-time priority, where permitted; not inherited by children.
        ///
        /// A capture of thousands of threads computes for a tenth of a second without sleeping, which RLIMIT_RTTIME must
        /// allow.
        case realTime(priority: Int32)
    }

    /// How many captures may wait.
    public var queueLimit: Int
    /// Bytes of stacks for which memory stays resident, so that a capture takes no page faults while it freezes.
    public var residentBytes: Int
    /// When the thread gets a CPU.
    public var scheduling: Scheduling

    /// Creates a configuration; as it stands, for processes with up to a thousand threads.
    public init(queueLimit: Int = 64, residentBytes: Int = 4 << 20, scheduling: Scheduling = .inherited) {
        self.queueLimit = queueLimit
        self.residentBytes = residentBytes
        self.scheduling = scheduling
    }
}

extension CaptureThreadConfiguration.Scheduling {
    /// Applies to the calling thread: sched_setscheduler(2) and setpriority(2) mean the thread when they are given 0.
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
