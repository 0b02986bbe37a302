// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Finds the first moment at which a program's main thread becomes idle for a while.
struct FirstIdle {
    /// The minimum time for which the thread must wait for events without running.
    static let length = Duration.milliseconds(50)

    /// A moment since which the thread has not run.
    struct Moment {
        /// The time at which the wait was first observed.
        let time: Instant
        /// The program's usage until then.
        let counters: ProcessCounters
        fileprivate let timeslices: UInt64
    }

    private var candidate: Moment?

    /// Checks the main thread.
    ///
    /// - Returns: the moment at which it became idle, once it has been idle for ``length``.
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

/// Finds the first listening socket of a program's processes.
final class FirstListen {
    private let sockets: ListeningSockets
    /// Sockets that listened before the launch, or belong to other programs.
    private var foreign: Set<UInt32>

    /// Records the existing listening sockets; create this before the launch.
    init() throws(LinuxError) {
        sockets = try ListeningSockets()
        foreign = try sockets.inodes()
    }

    /// Whether one of the processes listens on a socket now.
    ///
    /// - Parameter processes: Called only if there is a new listening socket.
    func hasHappened(_ processes: () -> [Int32]) -> Bool {
        guard let inodes = try? sockets.inodes() else { return false }
        let new = inodes.subtracting(foreign)
        guard !new.isEmpty else { return false }
        if processes().contains(where: { ListeningSockets.process($0, hasOneOf: new) }) { return true }
        foreign.formUnion(new)
        return false
    }
}
