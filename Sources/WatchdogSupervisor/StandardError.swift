// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogPolicy

/// Lines for people on file descriptor 2, each in one write so that other writers do not cut it.
public enum StandardError {
    /// Writes `watchdogd: TEXT` and a newline; what cannot be written within a second is lost.
    ///
    /// - Returns: false when it was lost.
    @discardableResult
    public static func say(_ text: String) -> Bool { say(text, within: .seconds(1)) }

    /// The same without waiting, for a loop that has deadlines to keep: somebody may have stopped reading.
    @discardableResult
    static func mention(_ text: String) -> Bool { say(text, within: .zero) }

    /// Writes lines as they are, without a name in front; what cannot be written at once is lost.
    static func show(_ lines: String) {
        for line in lines.split(separator: "\n") { _ = say(String(line), prefix: "", within: .zero) }
    }

    /// The same with a limit of one's own.
    @discardableResult
    static func say(_ text: String, within limit: Duration) -> Bool {
        say(text, prefix: "watchdogd: ", within: limit)
    }

    private static func say(_ text: String, prefix: String, within limit: Duration) -> Bool {
        // So much, if anything, is room for in a pipe that poll(2) finds writable: a write does not block then.
        var bytes = Array((prefix + text).utf8.prefix(Int(PIPE_BUF) - 1)) + [UInt8(ascii: "\n")]
        var entry = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, Int32(limit.nanoseconds / 1_000_000)) == 1, entry.revents & Int16(POLLOUT) != 0 else {
            return false
        }
        // SAFETY: the buffer outlives the call. A partial write or an error is not worth a retry that could block.
        return bytes.withUnsafeMutableBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) } == bytes.count
    }
}
