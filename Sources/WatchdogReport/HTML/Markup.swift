// SPDX-License-Identifier: Apache-2.0

/// HTML under construction: text goes in escaped, tags come from this module only.
struct Markup {
    private(set) var string = ""

    /// The longest text that is shown whole.
    private static let textLimit = 8_192

    /// Appends tags.
    mutating func raw(_ html: StaticString) { string += "\(html)" }

    /// Appends what another markup holds.
    mutating func append(_ other: Markup) { string += other.string }

    mutating func text(_ text: String) { string += Self.escaped(text) }

    /// Appends an element that holds a text.
    mutating func element(_ name: StaticString, _ text: String, class style: String? = nil) {
        open(name, class: style)
        self.text(text)
        close(name)
    }

    mutating func open(_ name: StaticString, class style: String? = nil) {
        string += style.map { "<\(name) class=\"\(Self.escaped($0))\">" } ?? "<\(name)>"
    }

    mutating func close(_ name: StaticString) { string += "</\(name)>\n" }

    /// Appends a tag with attributes, whose values are escaped.
    mutating func tag(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String>) {
        string += "<\(name)"
        for (key, value) in attributes { string += " \(key)=\"\(Self.escaped(value))\"" }
        string += ">"
    }

    /// Safe as the text of an element and in a quoted attribute.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.singleLine(limit: textLimit).unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
