// SPDX-License-Identifier: Apache-2.0

/// A text as a runtime stores it, copied from its memory.
public struct SnapshotText: Sendable, Equatable {
    /// Bytes per character: 1 (Latin-1), 2 or 4.
    public var width: Int
    /// The characters.
    public var bytes: ArraySlice<UInt8>

    /// Creates a text from its parts.
    public init(width: Int, bytes: ArraySlice<UInt8>) {
        (self.width, self.bytes) = (width, bytes)
    }

    /// The text without characters that are not valid in names; nil if it is empty.
    public var name: String? {
        var result = String.UnicodeScalarView()
        var rest = bytes
        while rest.count >= width {
            let value = rest.prefix(width).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let scalar = UnicodeScalar(value) ?? "\u{FFFD}"
            result.append(scalar.properties.generalCategory == .control ? "?" : scalar)
            rest = rest.dropFirst(width)
        }
        return result.isEmpty ? nil : String(result)
    }
}
