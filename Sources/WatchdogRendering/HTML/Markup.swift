// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// HTML under construction: all text is escaped, and tags come only from this module.
struct Markup {
    private(set) var string = ""

    /// The longest text that is shown in full.
    private static let textLimit = 8_192

    /// Appends tags.
    mutating func raw(_ html: StaticString) { string += "\(html)" }

    /// Appends JSON for a script of the page; its strings hold no character with a meaning in HTML.
    mutating func append(_ data: LaunchPageData) { string += data.json }

    /// Appends the contents of another markup.
    mutating func append(_ other: Markup) { string += other.string }

    mutating func text(_ text: String) { string += Self.escaped(text) }

    /// Appends an element that contains text.
    mutating func element(_ name: StaticString, _ text: String, class style: String? = nil) {
        begin(name, class: style)
        self.text(text)
        close(name)
    }

    mutating func begin(_ name: StaticString, class style: String? = nil) {
        string += style.map { "<\(name) class=\"\(Self.escaped($0))\">" } ?? "<\(name)>"
    }

    mutating func close(_ name: StaticString) { string += "</\(name)>\n" }

    /// Appends a tag with attributes and escapes their values.
    mutating func tag(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String>) {
        string += "<\(name)"
        for (key, value) in attributes { string += " \(key)=\"\(Self.escaped(value))\"" }
        string += ">"
    }

    /// Escapes a text for use in an element or a quoted attribute.
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
