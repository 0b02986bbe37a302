// SPDX-License-Identifier: Apache-2.0

/// Specifiers of systemd.unit(5) that mean something else in app files, or nothing.
enum SystemdSpecifiers {
    /// The value with an app file's specifiers; unknown ones stay, so that the parser rejects them.
    ///
    /// - Parameter isOfUser: whether the unit is one of a user's manager.
    static func translated(_ value: String, isOfUser: Bool) -> String {
        guard value.contains("%") else { return value }
        var result = ""
        var characters = value.makeIterator()
        while let character = characters.next() {
            guard character == "%" else {
                result.append(character)
                continue
            }
            switch characters.next() {
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
}
