// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Translates specifiers of systemd.unit(5) that differ in app files.
struct SystemdSpecifiers {
    /// Whether the unit is one of a user's manager.
    let isOfUser: Bool
    /// The unit's name without its suffix.
    private let name: String
    /// Whether the app has a different name, so that specifiers for the name differ.
    private let isRenamed: Bool

    /// - Parameter name: the unit's name without its suffix.
    init(isOfUser: Bool, name: String, app: AppName) {
        self.isOfUser = isOfUser
        self.name = name
        isRenamed = app.description != name
    }

    /// The value with an app file's specifiers; unknown ones are kept, so that the parser rejects them.
    func translated(_ value: String) -> String {
        guard value.contains("%") else { return value }
        var result = ""
        var characters = value.makeIterator()
        while let character = characters.next() {
            guard character == "%" else {
                result.append(character)
                continue
            }
            switch characters.next() {
            case let letter? where isRenamed && ofName(letter) != nil:
                result += UnitText.escapedSpecifiers(ofName(letter) ?? "")
            // The unit's name with its suffix; that of an app would be NAME.app.
            case "n": result += "%N.service"
            case "E": result += isOfUser ? "%h/.config" : "/etc"
            case "T": result += "/tmp"
            case "V": result += "/var/tmp"
            case let letter?: result += "%\(letter)"
            case nil: result += "%"
            }
        }
        return result
    }

    /// The value of a specifier for a part of the unit's name.
    private func ofName(_ letter: Character) -> String? {
        let prefix = name.prefix { $0 != "@" }
        let instance = name.drop { $0 != "@" }.dropFirst()
        let component = prefix.split(separator: "-", omittingEmptySubsequences: false).last ?? prefix
        switch letter {
        case "n": return name + ".service"
        case "N": return name
        case "p": return String(prefix)
        case "i": return String(instance)
        case "j": return String(component)
        case "P": return Self.unescaped(prefix)
        case "I": return Self.unescaped(instance)
        case "J": return Self.unescaped(component)
        default: return nil
        }
    }

    /// Decodes systemd's escapes: `-` is a slash, and `\\x2d` the character with that code.
    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.dropFirst().prefix(2)
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), digits.count == 2,
                let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte == UInt8(ascii: "-") ? UInt8(ascii: "/") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
