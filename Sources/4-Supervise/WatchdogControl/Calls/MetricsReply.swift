// SPDX-License-Identifier: Apache-2.0

/// The reply to `Metrics`.
public struct MetricsReply: ControlReply, PiecewiseReply {
    /// The text in parts, each of which ends with a line.
    public var parts: [String]
    /// The parts as JSON; empty if they are not encoded yet.
    private var encoded: [[UInt8]] = []

    private enum CodingKeys: CodingKey {
        case parts
    }

    /// Creates a reply.
    public init(parts: [String]) {
        self.parts = parts
    }

    /// Creates a reply for a server, with parts that are encoded already.
    ///
    /// Encoding the text of a thousand apps takes long, so that happens off the loop.
    ///
    /// - Parameter parts: UTF-8; they are encoded here.
    public init(encoding parts: some Sequence<ArraySlice<UInt8>>) {
        self.parts = []
        encoded = parts.map(Self.json)
    }

    var body: ReplyBody {
        .members([encoded.isEmpty ? .list("parts", parts) : .encoded("parts", encoded)])
    }

    /// A JSON string: RFC 8259, 7.
    private static func json(_ part: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        bytes.reserveCapacity(part.count + part.count / 4 + 2)
        for byte in part {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(ascii: "n"))
            case ..<0x20: bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return bytes
    }
}
