// SPDX-License-Identifier: Apache-2.0

/// Labels of a series, rendered once and used in many lines.
public struct MetricLabels: Hashable, Sendable {
    /// No labels.
    public static let none = MetricLabels(bytes: [])

    /// `app="web",state="running"`, escaped.
    let bytes: [UInt8]

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Creates labels.
    ///
    /// - Parameter pairs: valid names, with arbitrary values.
    public init(_ pairs: KeyValuePairs<String, String>) {
        var bytes: [UInt8] = []
        for (name, value) in pairs {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes += name.utf8
            bytes += "=\"".utf8
            Self.append(value, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        self.init(bytes: bytes)
    }

    /// Creates one label.
    init(_ name: String, _ value: String) {
        self.init([name: value])
    }

    /// These labels, and others after them.
    func with(_ others: MetricLabels) -> MetricLabels {
        let comma = bytes.isEmpty || others.bytes.isEmpty ? [] : [UInt8(ascii: ",")]
        return MetricLabels(bytes: bytes + comma + others.bytes)
    }

    /// Escapes the characters that would end the value or the line.
    ///
    /// The format has no other escapes: any other character is literal.
    private static func append(_ value: String, to bytes: inout [UInt8]) {
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\""): bytes += "\\\"".utf8
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            default: bytes.append(byte)
            }
        }
    }
}
