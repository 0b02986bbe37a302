// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Shows the progress of work in steps, in one line on a terminal; shows nothing for the first half second.
final class WorkProgress {
    private static let patience = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(100)

    private let line = ProgressLine()
    private var next = Instant.now() + patience
    private var isShown = false

    /// Says how much is done.
    ///
    /// - Parameters:
    ///   - done: how many steps are done.
    ///   - total: how many there are; nil if that is not known.
    ///   - what: what is being done, as in "reading crash logs".
    func show(_ done: Int, of total: Int?, _ what: @autoclosure () -> String) {
        let now = Instant.now()
        guard now >= next else { return }
        next = now + Self.interval
        isShown = true
        if let total, total > 0 {
            line.show("\(what()): \(done) of \(total)", Double(done) / Double(total))
        } else {
            line.show("\(what()): \(done)")
        }
    }

    /// Makes room for other output.
    func clear() {
        if isShown { line.clear() }
        isShown = false
    }
}
