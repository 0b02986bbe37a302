// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Lines for people on file descriptor 2, each in one write so that other writers do not cut it.
public enum StandardError {
    /// Writes `watchdogd: TEXT` and a newline; what cannot be written is lost.
    public static func say(_ text: String) {
        var bytes = Array("watchdogd: \(text)\n".utf8)
        // SAFETY: the buffer outlives the call. A partial write or an error is not worth a retry that could block.
        bytes.withUnsafeMutableBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
