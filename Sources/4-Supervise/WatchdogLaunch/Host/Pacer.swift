// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Repeats checks for what the kernel does not announce, for all launches.
///
/// All checks share one timer, created with the host, so that noticing the end of a process never requires a new timer.
///
/// Isolation: the loop's thread.
package final class Pacer {
    private let loop: EventLoop
    private var timer: Timer?
    private var checks: [Int: (due: Instant, action: () -> Void)] = [:]
    private var lastNumber = 0

    init(_ loop: EventLoop) throws(LinuxError) {
        self.loop = loop
        timer = try loop.timer { [unowned self] _ in fire() }
    }

    /// Calls `action` once after a delay; returns the number for ``cancel(_:)``.
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Int {
        lastNumber += 1
        let due = loop.now + delay
        checks[lastNumber] = (due, action)
        if timer?.due.map({ due < $0 }) ?? true { timer?.arm(at: due) }
        return lastNumber
    }

    package func cancel(_ number: Int?) {
        if let number { checks[number] = nil }
    }

    private func fire() {
        let now = loop.now
        for number in checks.filter({ $0.value.due <= now }).keys.sorted() {
            // One check may cancel another.
            checks.removeValue(forKey: number)?.action()
        }
        timer?.arm(at: checks.values.map(\.due).min())
    }
}
