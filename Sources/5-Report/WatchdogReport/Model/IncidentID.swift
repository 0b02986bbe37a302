// SPDX-License-Identifier: Apache-2.0

/// The identifier of one incident: a random UUID (RFC 9562, version 4), written in capitals like Apple's.
public struct IncidentID: Hashable, Sendable, Codable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Creates a random identifier.
    public static func random(using generator: inout some RandomNumberGenerator) -> IncidentID {
        let version = generator.next() & ~0xf000 | 0x4000
        let variant = generator.next() & ~(0b11 << 62) | 0b10 << 62
        return IncidentID(high: version, low: variant)
    }

    /// Creates a random identifier.
    public static func random() -> IncidentID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses `356753AC-2172-45DC-977A-11F2328980D0`, in upper or lower case.
    public init?(_ text: String) {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12],
            groups.allSatisfy({ $0.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit } }),
            let high = UInt64(groups[0...2].joined(), radix: 16), let low = UInt64(groups[3...4].joined(), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// The identifier as text, in capitals.
    public var description: String { Self.dashed(high, low, tenIs: "A") }

    /// Decodes the text of ``description``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = IncidentID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
        }
        self = value
    }

    /// Encodes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Formats the two halves as a UUID.
    ///
    /// - Parameter ten: the digit that follows 9.
    static func dashed(_ high: UInt64, _ low: UInt64, tenIs ten: Unicode.Scalar = "a") -> String {
        String(unsafeUninitializedCapacity: 36) { text in
            var length = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[length] = UInt8(ascii: "-")
                    length += 1
                }
                let word = index < 16 ? high : low
                let digit = UInt8(truncatingIfNeeded: word >> (60 - UInt64(index % 16) * 4)) & 0xf
                text[length] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: ten) + digit - 10
                length += 1
            }
            return length
        }
    }
}
