// SPDX-License-Identifier: Apache-2.0

// `stdout` is a variable in C.
@preconcurrency import Glibc
import WatchdogBase

/// What was printed on file descriptor 1.
public enum StandardOutput {
    /// Prints text that programs and editors read: as it is, but safe where it goes to a terminal.
    ///
    /// JSON, app files and metrics may hold names that would control a terminal, and must not lose them in a pipe. On a
    /// terminal, JSON remains valid, because somebody may copy it from there.
    public static func emit(_ text: String) {
        guard isatty(STDOUT_FILENO) == 1 else { return print(text, terminator: "") }
        print(text.replacing("\t", with: "    ").terminalJSON, terminator: "")
    }

    /// Writes what is still in the buffer.
    ///
    /// - Returns: why some of the output is lost, such as for a full disk; nil if all has been written.
    public static func flush() -> String? {
        // A failed write empties the buffer, so that only the stream's flag remembers it.
        let wasLost = ferror(stdout) != 0
        guard fflush(stdout) != 0 else { return wasLost ? "cannot write to standard output" : nil }
        return "cannot write to standard output: \(String(cString: strerror(errno)))"
    }
}
