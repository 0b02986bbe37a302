// SPDX-License-Identifier: Apache-2.0

/// A key for `watchdogd top`.
public enum TopKey: Hashable, Sendable {
    case character(Character)
    case enter
    case backspace
    case escape
    /// ^C, or ^D.
    case interrupt
    case up
    case down
    case pageUp
    case pageDown

    /// Parses the keys in bytes from a terminal; unknown sequences are skipped.
    ///
    /// - Parameter bytes: the result of one read(2); terminals send the bytes of a key together.
    public static func keys(in bytes: [UInt8]) -> [TopKey] {
        var keys: [TopKey] = []
        var rest = bytes[...]
        while let byte = rest.first {
            switch byte {
            case 0x1b:
                // CSI or SS3: ECMA-48, xterm's "PC-Style Function Keys".
                guard let second = rest.dropFirst().first, second == 0x5b || second == 0x4f else {
                    keys.append(.escape)
                    rest = rest.dropFirst()
                    continue
                }
                let sequence = rest.dropFirst(2)
                let end = sequence.firstIndex { (0x40...0x7e).contains($0) } ?? sequence.endIndex
                let known: [[UInt8]: TopKey] = [
                    Array("A".utf8): .up, Array("B".utf8): .down, Array("5~".utf8): .pageUp,
                    Array("6~".utf8): .pageDown,
                ]
                let code = Array(rest[sequence.startIndex..<min(end + 1, rest.endIndex)])
                if let key = known[code] { keys.append(key) }
                rest = rest[min(end + 1, rest.endIndex)...]
            case 0x03, 0x04:
                keys.append(.interrupt)
                rest = rest.dropFirst()
            case 0x0a, 0x0d:
                keys.append(.enter)
                rest = rest.dropFirst()
            case 0x08, 0x7f:
                keys.append(.backspace)
                rest = rest.dropFirst()
            case 0x20...0x7e:
                keys.append(.character(Character(Unicode.Scalar(byte))))
                rest = rest.dropFirst()
            default: rest = rest.dropFirst()
            }
        }
        return keys
    }
}
