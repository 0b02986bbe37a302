// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Looks for the first moment at which a program's main thread has nothing to do for a while.
struct FirstIdle {
    /// How long the thread must wait for events without running.
    static let length = Duration.milliseconds(50)

    /// A moment since which the thread has not run.
    struct Moment {
        /// When it was first seen waiting.
        let time: Instant
        /// What the program had used by then.
        let counters: ProcessCounters
        fileprivate let timeslices: UInt64
    }

    private var candidate: Moment?

    /// Checks the main thread.
    ///
    /// - Returns: the moment when it became idle, once it has been so for ``length``.
    mutating func look(at pid: Int32, now: Instant, counters: () -> ProcessCounters) -> Moment? {
        guard let schedule = ThreadSchedule.read(pid, thread: pid), EventWait.hasMainThread(of: pid) else {
            candidate = nil
            return nil
        }
        guard let candidate, candidate.timeslices == schedule.timeslices else {
            self.candidate = Moment(time: now, counters: counters(), timeslices: schedule.timeslices)
            return nil
        }
        return now - candidate.time >= Self.length ? candidate : nil
    }
}
