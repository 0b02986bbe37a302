// SPDX-License-Identifier: Apache-2.0

/// Splits a long text, so that sending one part does not block the loop for long.
public enum MetricsParts {
    /// The bytes after which a part ends with the current line.
    static let size = 4_096

    /// Splits a text at line ends; the joined parts are the text.
    public static func split(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        while start < text.count {
            let least = min(start + size, text.count)
            let end = text[least...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? text.count
            parts.append(text[start..<end])
            start = end
        }
        return parts
    }
}
