// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Asks the processes of one launch to end, or kills them, and watches until none remain.
///
/// Isolation: the loop's thread.
final class TreeEnd {
    /// The delay between checks: a cgroup empties within a millisecond or two, but a process that cannot die must not
    /// cause a thousand scans of `/proc`.
    private static let steps = Duration.milliseconds(1)...Duration.milliseconds(50)

    /// How the processes are ended.
    enum Way {
        /// SIGTERM, once: a second one could cut short what the first started.
        case ask
        case kill
    }

    private struct Ending {
        let way: Way
        let process: () -> Pidfd?
        let containment: Containment?
        let whenEmpty: () -> Void
    }

    private let host: Host
    private var nextCheck: Int?
    private var step = TreeEnd.steps.lowerBound
    private var ending: Ending?

    init(_ host: Host) { self.host = host }

    /// Ends the processes and calls `whenEmpty` once, possibly before this returns.
    ///
    /// - Parameters:
    ///   - way: how; a later call may change it.
    ///   - process: returns the main process at each check; it is killed even outside the containment. Nil if there is
    ///     none.
    ///   - containment: holds the processes.
    func begin(
        _ way: Way, _ process: @escaping () -> Pidfd?, _ containment: Containment?, whenEmpty: @escaping () -> Void
    ) {
        ending = Ending(way: way, process: process, containment: containment, whenEmpty: whenEmpty)
        step = Self.steps.lowerBound
        if way == .ask { ask(containment) }
        check()
    }

    private func ask(_ containment: Containment?) {
        containment?.send(SIGTERM)
        // A stopped process does not handle SIGTERM until it is continued.
        containment?.send(SIGCONT)
    }

    private func check() {
        guard let ending else { return }
        if ending.way == .kill {
            try? ending.process()?.send(SIGKILL)
            // Kill at each check: a process forked during one scan of /proc is found by the next.
            try? ending.containment?.kill()
        }
        host.childrenChanged()
        guard self.ending != nil else { return }
        guard !(ending.process()?.hasExited ?? true) || !(ending.containment?.isEmpty ?? true) else {
            cancel()
            return ending.whenEmpty()
        }
        host.pacer.cancel(nextCheck)
        nextCheck = host.pacer.schedule(after: step) { [weak self] in self?.check() }
        step = min(step * 2, Self.steps.upperBound)
    }

    /// Stops watching the remaining processes.
    func cancel() {
        ending = nil
        host.pacer.cancel(nextCheck)
    }
}
