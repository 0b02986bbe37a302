// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogWire

extension SeededGenerator {
    mutating func maybe<T>(_ make: (inout SeededGenerator) -> T) -> T? {
        Bool.random(using: &self) ? make(&self) : nil
    }

    /// Text without characters that the wire cannot carry, at most `limit` bytes.
    mutating func text(limit: Int) -> String {
        let alphabet: [Unicode.Scalar] = ["a", "Z", "0", "=", " ", "\"", "\t", "ä", "€", "🐕", "\u{301}", "\u{7f}"]
        var text = ""
        for _ in 0..<Int.random(in: 0...limit, using: &self) {
            guard let scalar = alphabet.randomElement(using: &self) else { break }
            guard text.utf8.count + scalar.utf8.count <= limit else { break }
            text.unicodeScalars.append(scalar)
        }
        return text
    }

    mutating func duration() -> Duration {
        .microseconds(Int64.random(in: 1...(Bool.random(using: &self) ? 1_000 : .max), using: &self))
    }

    mutating func list<T>(_ make: (inout SeededGenerator) -> T) -> [T] {
        (0..<Int.random(in: 0...3, using: &self)).map { _ in make(&self) }
    }

    mutating func signpost() -> ClientMessage.Signpost {
        func words(_ limit: Int) -> String { String(text(limit: limit).map { $0 == "\t" ? " " : $0 }) }
        return ClientMessage.Signpost(
            ClientMessage.Signpost.Phase.allCases.randomElement(using: &self) ?? .event,
            category: words(64),
            name: words(64),
            id: Bool.random(using: &self) ? 0 : next(),
            nanoseconds: Int64.random(in: 0 ... .max, using: &self),
            isOnMainThread: Bool.random(using: &self),
            message: words(256)
        )
    }

    private mutating func noise() -> [UInt8] {
        (0..<Int.random(in: 0...40, using: &self)).map { _ in UInt8(next() & 0xff) }
    }

    /// Bytes that resemble the protocol enough to reach every branch of a parser.
    mutating func hostileDatagram(keys: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...12, using: &self) {
            switch Int.random(in: 0...9, using: &self) {
            case 0: bytes.append(contentsOf: noise())
            case 1: bytes.append(contentsOf: [UInt8](repeating: UInt8(next() & 0xff), count: Int(next() % 5000)))
            default: bytes.append(contentsOf: (keys.randomElement(using: &self) ?? "").utf8)
            }
            if next() % 8 != 0 { bytes.append(UInt8(ascii: "=")) }
            switch Int.random(in: 0...5, using: &self) {
            case 0: bytes.append(contentsOf: String(next()).utf8)
            case 1: bytes.append(contentsOf: "99999999999999999999999999".utf8)
            case 2: bytes.append(contentsOf: noise())
            default: bytes.append(UInt8(ascii: "1"))
            }
            if next() % 8 != 0 { bytes.append(UInt8(ascii: "\n")) }
        }
        return bytes
    }
}
