// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text made fit for a terminal, a log line or a report: one line, nothing that controls a display, bounded.
    ///
    /// Line breaks and tabs become spaces. Other control characters are removed, and so are the invisible ones that reorder or
    /// hide text (Unicode category Cf, of which only the joiners that scripts and emoji need remain).
    ///
    /// - Parameter limit: The greatest length of the result in bytes of UTF-8. A longer text is cut at a scalar boundary and
    ///   ends in `…`.
    /// - Returns: The printable text.
    public func printable(limit: Int) -> String {
        let ellipsis = "…"
        var result = ""
        for scalar in unicodeScalars {
            guard let shown = scalar.printed else { continue }
            result.unicodeScalars.append(shown)
            if result.utf8.count > limit {
                let room = limit - ellipsis.utf8.count
                return room >= 0 ? result.cut(toBytes: room) + ellipsis : ""
            }
        }
        return result
    }

    /// The longest beginning of at most `limit` bytes that ends at a scalar boundary.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while end.samePosition(in: unicodeScalars) == nil {
            end = utf8.index(before: end)
        }
        return String(self[..<end])
    }
}

extension Unicode.Scalar {
    private static let zeroWidthNonJoiner: Unicode.Scalar = "\u{200C}"
    private static let zeroWidthJoiner: Unicode.Scalar = "\u{200D}"

    /// The scalar to show in this one's place; nil to show nothing.
    fileprivate var printed: Unicode.Scalar? {
        switch properties.generalCategory {
        case .control where self == "\n" || self == "\r" || self == "\t": " "
        case .lineSeparator, .paragraphSeparator: " "
        case .format where self == Self.zeroWidthJoiner || self == Self.zeroWidthNonJoiner: self
        case .control, .format, .surrogate: nil
        default: self
        }
    }
}
