// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import WatchdogBase

/// Keeps reports waiting while kills are due.
///
/// Names, verdicts and files take hundreds of times as long as a capture. Apps that hang for one cause are due together, and the
/// report of the first one would take the CPUs from the captures of the others, and from the programs that end.
///
/// Isolation: may be used from any thread; no call waits.
package final class ReportHold: Sendable {
    /// How long reports wait at most, however many kills follow each other.
    package static let limit = Duration.seconds(1)

    private struct State {
        /// How many kills are due.
        var due = 0
        var isHeld = false
        /// Tells a hold from later ones.
        var number = 0
    }

    private let queue: DispatchQueue
    private let limit: Duration
    private let state = Mutex(State())

    /// Creates one that holds nothing.
    ///
    /// - Parameter queue: makes the reports.
    init(_ queue: DispatchQueue, limit: Duration = ReportHold.limit) {
        self.queue = queue
        self.limit = limit
    }

    // A queue that is suspended must not be released.
    deinit { if state.withLock({ $0.isHeld }) { queue.resume() } }

    /// Notes that a kill is due; it counts until the result ends or is released.
    func killIsDue() -> DueKill {
        let number: Int? = state.withLock { state in
            state.due += 1
            guard state.due == 1 else { return nil }
            state.isHeld = true
            state.number += 1
            queue.suspend()
            return state.number
        }
        if let number {
            DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) { [weak self] in
                self?.release(number)
            }
        }
        return DueKill(self)
    }

    var isKillDue: Bool { state.withLock { $0.due > 0 } }

    fileprivate func killed() {
        state.withLock { state in
            state.due -= 1
            if state.due == 0 { release(&state) }
        }
    }

    private func release(_ number: Int) {
        state.withLock { if $0.number == number { release(&$0) } }
    }

    private func release(_ state: inout State) {
        guard state.isHeld else { return }
        state.isHeld = false
        queue.resume()
    }
}

/// A kill that is due, and before which no report is made: ``ReportHold``.
///
/// Isolation: may be used from any thread.
final class DueKill: Sendable {
    private let hold: Mutex<ReportHold?>

    fileprivate init(_ hold: ReportHold) { self.hold = Mutex(hold) }

    deinit { end() }

    /// Notes that the kill was sent, or is not waited for any longer.
    func end() { hold.withLock { $0.take() }?.killed() }
}
