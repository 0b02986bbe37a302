// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Parses values like compose.
enum ComposeValue {
    /// A boolean, including the words of YAML 1.1; nil for other text.
    static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "y", "t", "1": true
        case "false", "no", "off", "n", "f", "0": false
        default: nil
        }
    }

    /// A duration in Go's syntax, with compose's additional days and weeks.
    ///
    /// Nil for a number without a unit, except 0.
    static func duration(_ text: String) -> Duration? {
        if text == "0" { return .zero }
        var total = Duration.zero
        var rest = text[...]
        guard !rest.isEmpty, rest.utf8.count <= 64 else { return nil }
        while !rest.isEmpty {
            let number = rest.prefix { ("0"..."9").contains($0) || $0 == "." }
            rest = rest.dropFirst(number.count)
            let unit = rest.prefix { !("0"..."9").contains($0) && $0 != "." }
            rest = rest.dropFirst(unit.count)
            guard !number.isEmpty, let length = units[String(unit)],
                let span = try? TimeSpan.parse("\(number)\(unit == "w" ? "d" : length)")
            else { return nil }
            total += unit == "w" ? span * 7 : span
        }
        // The maximum of app files: TimeSpan.
        return total <= .seconds(3_155_760_000) ? total : nil
    }

    private static let units = [
        "ns": "ns", "us": "us", "\u{b5}s": "us", "\u{3bc}s": "us", "ms": "ms", "s": "s", "m": "min", "h": "h", "d": "d",
        "w": "w",
    ]

    /// A size in the syntax of app files, with units as powers of 1024; nil for other text.
    static func size(_ text: String) -> String? {
        let number = text.prefix { ("0"..."9").contains($0) || $0 == "." }
        var unit = text.dropFirst(number.count).lowercased()[...]
        if unit.hasPrefix(" ") { unit = unit.dropFirst() }
        for tail in ["ib", "b"] where unit.hasSuffix(tail) {
            unit = unit.dropLast(tail.count)
            break
        }
        guard let power = ["", "k", "m", "g", "t", "p"].firstIndex(of: unit), number.first != "." else { return nil }
        if UInt64(number) != nil { return String(number) + unit.uppercased() }
        guard let value = Double(number), value < 1e6 else { return nil }
        return String(Int((value * Double(1 << (10 * power))).rounded(.down)))
    }

    /// Whether compose may change an unquoted text, because YAML parses it as a number: `1.10`, `007`.
    static func isRewritten(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard let first = digits.first, ("0"..."9").contains(first) || "+.".contains(first) else { return false }
        let plain = digits.filter { $0 != "_" }
        let isOther =
            ["0x", "0o", "0b"].contains(plain.prefix(2).lowercased()) && Int(plain.dropFirst(2), radix: 16) != nil
        guard isOther || Double(plain) != nil || digits.lowercased() == ".inf" else { return false }
        // Numbers whose text is unchanged.
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        let isWhole =
            !parts.isEmpty && parts[0].utf8.allSatisfy { (0x30...0x39).contains($0) }
            && (parts[0] == "0" || parts[0].first.map { $0 != "0" } == true) && digits.count <= 15
        guard isWhole else { return true }
        if parts.count == 1 { return false }
        return
            !(parts.count == 2 && parts[1].utf8.allSatisfy { (0x30...0x39).contains($0) } && parts[1].last != "0"
            && !parts[1].isEmpty && !(parts[0] == "0" && parts[1].hasPrefix("0000")))
    }
}
