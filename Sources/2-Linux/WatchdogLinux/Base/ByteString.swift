// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An argument, environment entry or path as the kernel sees it: bytes without NUL, not necessarily UTF-8.
public struct ByteString: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The bytes, without the terminating NUL.
    public let bytes: [UInt8]

    /// Takes the bytes up to the first NUL.
    public init(bytes: some Sequence<UInt8>) {
        let all = Array(bytes)
        self.bytes = all.firstIndex(of: 0).map { Array(all[..<$0]) } ?? all
    }

    /// The UTF-8 bytes of a string.
    public init(_ string: String) {
        self.init(bytes: string.utf8)
    }

    /// The UTF-8 bytes of a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Copies a C string.
    public init(cString: UnsafePointer<CChar>) {
        bytes = UnsafeBufferPointer(start: cString, count: strlen(cString)).map { UInt8(bitPattern: $0) }
    }

    /// The bytes as text; invalid UTF-8 is replaced by U+FFFD.
    public var description: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// This process's arguments, byte for byte, starting with the program's name.
    public static var commandLine: [ByteString] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            CommandLine.unsafeArgv[index].map { ByteString(cString: $0) }
        }
    }
}

extension String {
    /// The same text in memory of exactly its size; for strings that are kept for each of many apps.
    ///
    /// A concatenated string has spare capacity, up to its own length.
    public var withoutSpareRoom: String { String(decoding: Array(utf8), as: UTF8.self) }
}
