// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// HTML under construction: all text is escaped, and tags come only from this module.
package struct Markup {
    /// The markup so far.
    package private(set) var string = ""

    /// The longest text that is shown in full.
    private static let textLimit = 8_192

    /// Creates empty markup.
    package init() {}

    /// Appends tags.
    package mutating func raw(_ html: StaticString) { string += "\(html)" }

    /// Appends JSON for a script of the page; in its strings, no character keeps the meaning that HTML gives it.
    package mutating func script(data json: String) {
        for character in json.unicodeScalars {
            switch character {
            case "<", ">", "&", "'": string += "\\u00" + String(character.value, radix: 16)
            default: string.unicodeScalars.append(character)
            }
        }
    }

    /// Appends the contents of another markup.
    package mutating func append(_ other: Markup) { string += other.string }

    /// Appends text.
    package mutating func text(_ text: String) { string += Self.escaped(text) }

    /// Appends an element that contains text.
    package mutating func element(_ name: StaticString, _ text: String, class style: String? = nil) {
        begin(name, class: style)
        self.text(text)
        close(name)
    }

    /// Appends a tag.
    package mutating func begin(_ name: StaticString, class style: String? = nil) {
        string += style.map { "<\(name) class=\"\(Self.escaped($0))\">" } ?? "<\(name)>"
    }

    /// Appends the tag that ends an element.
    package mutating func close(_ name: StaticString) { string += "</\(name)>\n" }

    /// Appends a tag with attributes and escapes their values.
    package mutating func tag(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String>) {
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
