// SPDX-License-Identifier: Apache-2.0

/// Names with `*`, `?` and `[abc]`: glob(7).
package enum Wildcard {
    /// Whether a text is a pattern; a bracket that nothing closes stands for itself.
    package static func isIn(_ text: some StringProtocol) -> Bool {
        if text.contains(where: { "*?".contains($0) }) { return true }
        guard let open = text.firstIndex(of: "[") else { return false }
        return text[open...].dropFirst(2).contains("]")
    }

    /// Whether a filter, a name or a pattern, selects a name; case does not matter.
    package static func selects(_ name: String, by filter: String) -> Bool {
        let (name, filter) = (name.lowercased(), filter.lowercased())
        return name == filter || isIn(filter) && matches(name, filter)
    }

    /// Whether a pattern matches a name; a leading dot only matches itself.
    package static func matches(_ name: some StringProtocol, _ pattern: some StringProtocol) -> Bool {
        if name.hasPrefix("."), !pattern.hasPrefix(".") { return false }
        return matches(Array(name)[...], Array(pattern)[...])
    }

    /// Steps back to the last star only: the time is at most that of both lengths multiplied.
    private static func matches(_ name: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
        var name = name
        var pattern = pattern
        var star: (name: ArraySlice<Character>, pattern: ArraySlice<Character>)?
        while let character = name.first {
            if pattern.first == "*" {
                pattern = pattern.dropFirst()
                star = (name, pattern)
            } else if let rest = rest(after: character, pattern) {
                name = name.dropFirst()
                pattern = rest
            } else if let last = star {
                name = last.name.dropFirst()
                pattern = last.pattern
                star = (name, pattern)
            } else {
                return false
            }
        }
        return pattern.allSatisfy { $0 == "*" }
    }

    /// The pattern after its first part, if that matches the character.
    private static func rest(
        after character: Character, _ pattern: ArraySlice<Character>
    ) -> ArraySlice<Character>? {
        guard let first = pattern.first else { return nil }
        let others = pattern.dropFirst()
        if first == "?" { return others }
        // A bracket right after the first is one of the characters.
        guard first == "[", let close = others.dropFirst().firstIndex(of: "]") else {
            return first == character ? others : nil
        }
        var set = pattern[others.startIndex..<close]
        let isNegated = set.first == "!" || set.first == "^"
        if isNegated { set = set.dropFirst() }
        var isIn = false
        while let low = set.first {
            if set.count >= 3, set[set.startIndex + 1] == "-" {
                let high = set[set.startIndex + 2]
                isIn = isIn || (low <= high && (low...high).contains(character))
                set = set.dropFirst(3)
            } else {
                isIn = isIn || low == character
                set = set.dropFirst()
            }
        }
        return isIn != isNegated ? pattern[(close + 1)...] : nil
    }
}
