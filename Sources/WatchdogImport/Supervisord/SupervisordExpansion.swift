// SPDX-License-Identifier: Apache-2.0

/// `%(name)s` in supervisord's values, with the formats `s`, `d` and `02d`.
struct SupervisordExpansion {
    struct Invalid: Error {
        let message: String
    }

    var values: [String: String]

    /// The value with everything expanded.
    func expand(_ text: String) throws(Invalid) -> String {
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
            let format = rest.prefix { $0.isNumber }
            rest = rest.dropFirst(format.count)
            guard let kind = rest.first, kind == "s" || kind == "d" else {
                throw Invalid(message: "%(\(Printable.text(name, limit: 40))) lacks the s or d after it")
            }
            rest = rest.dropFirst()
            result += Self.padded(try value(of: name), format)
        }
        return result + rest
    }

    private func value(of name: String) throws(Invalid) -> String {
        if let value = values[name] { return value }
        let shown = Printable.text(name, limit: 40)
        throw Invalid(
            message: name.hasPrefix("ENV_")
                ? "%(\(shown))s is a variable of supervisord's own environment; write its value"
                : "%(\(shown))s is not known here")
    }

    private static func padded(_ value: String, _ format: Substring) -> String {
        guard let width = Int(format), width <= 20, value.count < width else { return value }
        return String(repeating: format.hasPrefix("0") ? "0" : " ", count: width - value.count) + value
    }
}
