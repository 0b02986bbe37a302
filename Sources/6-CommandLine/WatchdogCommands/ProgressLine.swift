// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// Shows progress in one line on the terminal; prints nothing if standard error is not a terminal.
struct ProgressLine {
    private static let width = 24
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Shows what happens, and a bar.
    ///
    /// - Parameter fraction: how much of it is done, from 0 to 1; nil if that is not known.
    func show(_ text: String, _ fraction: Double? = nil) {
        guard isTerminal else { return }
        // A line that wraps could not be cleared.
        let room = TerminalWidth.columns - 1
        guard let fraction else { return write("\r\u{1b}[K\(text.singleLine(limit: room))") }
        let done = Int(min(1, max(0, fraction)) * Double(Self.width))
        let bar = String(repeating: "#", count: done) + String(repeating: "-", count: Self.width - done)
        write("\r\u{1b}[K[\(bar)] \(text.singleLine(limit: max(8, room - Self.width - 3)))")
    }

    func clear() {
        if isTerminal { write("\r\u{1b}[K") }
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
