// SPDX-License-Identifier: Apache-2.0

/// Splits JSON text (RFC 8259) into its tokens, without recursion and without storing anything.
///
/// It never fails: damaged text yields damaged tokens. The caller decides whether their order and contents are JSON.
public struct JSONScanner: Sequence, IteratorProtocol, Sendable {
    /// A part of the text.
    public struct Token: Hashable, Sendable {
        /// The kind of token.
        public enum Kind: Hashable, Sendable {
            /// `{` or `[`.
            case opening
            /// `}` or `]`.
            case closing
            /// `,`.
            case comma
            /// `:`.
            case colon
            /// A string including its quotes; the last one may be unterminated.
            case string(isWhole: Bool)
            /// Anything else up to the next token or whitespace: a number, `true`, `false`, `null` or garbage.
            case word
        }

        /// The kind of token.
        public let kind: Kind
        /// The token's bytes, as offsets into the text.
        public let range: Range<Int>
    }

    private let bytes: [UInt8]
    private var offset = 0

    /// Starts at the beginning of a text.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The next token; nil at the end of the text.
    public mutating func next() -> Token? {
        while offset < bytes.count, Self.isBlank(bytes[offset]) { offset += 1 }
        guard offset < bytes.count else { return nil }
        let start = offset
        offset += 1
        let kind: Token.Kind
        switch bytes[start] {
        case UInt8(ascii: "{"), UInt8(ascii: "["): kind = .opening
        case UInt8(ascii: "}"), UInt8(ascii: "]"): kind = .closing
        case UInt8(ascii: ","): kind = .comma
        case UInt8(ascii: ":"): kind = .colon
        case UInt8(ascii: "\""): kind = .string(isWhole: skipString())
        default:
            while offset < bytes.count, !Self.endsWord(bytes[offset]) { offset += 1 }
            kind = .word
        }
        return Token(kind: kind, range: start..<offset)
    }

    private mutating func skipString() -> Bool {
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return true }
        }
        // A text may end in a backslash.
        offset = bytes.count
        return false
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }

    private static func endsWord(_ byte: UInt8) -> Bool { isBlank(byte) || "{}[],:\"".utf8.contains(byte) }
}
