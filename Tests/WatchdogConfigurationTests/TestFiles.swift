// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Files of this package, and programs of this machine.
enum TestFiles {
    static let root = String("/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/"))

    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    static func write(_ text: String, to path: String) throws {
        try text.write(toFile: "\(root)/\(path)", atomically: true, encoding: .utf8)
    }

    /// The output of a shell command on both streams; nil if it does not exit with 0.
    static func output(of command: String) -> String? {
        guard let pipe = popen("LC_ALL=C; export LC_ALL; { \(command); } 2>&1", "r") else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { bytes += buffer.prefix(count) }
        return pclose(pipe) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
