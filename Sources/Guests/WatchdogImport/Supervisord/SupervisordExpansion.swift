// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// `%(name)s` in supervisord's values, which Python's `%` operator replaces: docs.python.org, "printf-style String
/// Formatting".
struct SupervisordExpansion {
    struct Invalid: Error {
        let message: String
    }

    var values: [String: String]
    /// The placeholder for a variable of supervisord's own environment, if that is allowed: a private-use character.
    static let unknown = "\u{f0000}"

    /// The maximum width of a field.
    private static let maximumWidth = 200

    /// Expands a value.
    ///
    /// - Parameter marksUnknown: whether to replace variables of supervisord's own environment with ``unknown``.
    func expand(_ text: String, marksUnknown: Bool = false) throws(Invalid) -> String {
        guard text.contains("%") else { return text }
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "%") {
            result += rest[..<mark]
            rest = rest[rest.index(after: mark)...]
            if rest.first == "%" {
                result.append("%")
                rest = rest.dropFirst()
                continue
            }
            guard rest.first == "(", let close = rest.firstIndex(of: ")") else {
                throw Invalid(message: "a lone \"%\"; supervisord wants %% for a percent sign")
            }
            let name = String(rest[rest.index(after: rest.startIndex)..<close])
            rest = rest[rest.index(after: close)...]
            let flags = rest.prefix { "#0- +".contains($0) }
            rest = rest.dropFirst(flags.count)
            let width = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(width.count)
            guard let kind = rest.first, "sdiu".contains(kind), (Int(width) ?? 0) <= Self.maximumWidth else {
                throw Invalid(
                    message: "%(\(name.singleLine(limit: 40))) lacks the s or d after it; write %(NAME)s")
            }
            rest = rest.dropFirst()
            if marksUnknown, name.hasPrefix("ENV_"), values[name] == nil {
                result += Self.unknown
                continue
            }
            result += try Self.formatted(value(of: name), isNumber: kind != "s", flags, Int(width) ?? 0, name)
        }
        return result + rest
    }

    private func value(of name: String) throws(Invalid) -> String {
        if let value = values[name] { return value }
        let shown = name.singleLine(limit: 40)
        throw Invalid(
            message: name.hasPrefix("ENV_")
                ? "%(\(shown))s is a variable of supervisord's own environment; write its value"
                : "%(\(shown))s is not known here")
    }

    private static func formatted(
        _ value: String, isNumber: Bool, _ flags: Substring, _ width: Int, _ name: String
    ) throws(Invalid) -> String {
        guard !isNumber || Int(value) != nil else {
            throw Invalid(message: "%(\(name.singleLine(limit: 40)))d is not a number; write s instead of d")
        }
        var digits = value
        if isNumber, flags.contains("+"), !value.hasPrefix("-") { digits = "+" + value }
        let padding = max(0, width - digits.count)
        if flags.contains("-") { return digits + String(repeating: " ", count: padding) }
        // Only numbers are padded with zeros.
        guard isNumber, flags.contains("0") else { return String(repeating: " ", count: padding) + digits }
        let sign = digits.prefix { "+-".contains($0) }
        return sign + String(repeating: "0", count: padding) + digits.dropFirst(sign.count)
    }
}
