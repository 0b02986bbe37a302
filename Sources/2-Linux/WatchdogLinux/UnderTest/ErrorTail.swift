// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// The end of what a program writes to its standard error.
public final class ErrorTail {
    private static let limit = 4096
    private var pipe: OwnedDescriptor?
    private var bytes: [UInt8] = []

    /// Takes ownership of the read end of a pipe.
    init(_ pipe: OwnedDescriptor) {
        self.pipe = pipe
        _ = fcntl(pipe.number, F_SETFL, O_NONBLOCK)
    }

    /// The descriptor to wait for; nil after the end of file.
    var descriptor: Int32? { pipe?.number }

    /// Reads the available bytes, up to a limit per call.
    public func read() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        for _ in 0..<16 {
            guard let pipe else { return }
            let count = Glibc.read(pipe.number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count == 0 { self.pipe = nil }
            guard count > 0 else { return }
            bytes = Array((bytes + buffer[..<count]).suffix(Self.limit))
        }
    }

    /// The last line that is not empty; nil if there is none.
    public var lastLine: String? {
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        return lines.lazy.reversed().map { String(decoding: $0, as: UTF8.self).singleLine(limit: 200) }
            .first { line in line.contains { $0 != " " } }
    }
}
