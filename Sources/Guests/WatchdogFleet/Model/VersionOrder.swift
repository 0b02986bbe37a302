// SPDX-License-Identifier: Apache-2.0

/// The order of an app's versions, the earliest first.
enum VersionOrder {
    private enum Part: Comparable {
        case text(String)
        case number(String)

        /// Digits without leading zeros: the longer one is larger, without a limit on the size.
        static func < (left: Part, right: Part) -> Bool {
            switch (left, right) {
            case (.number(let left), .number(let right)):
                left.count != right.count ? left.count < right.count : left < right
            case (.text(let left), .text(let right)): left < right
            case (.text, .number): true
            case (.number, .text): false
            }
        }
    }

    /// Orders versions: by their numbers if each begins with a number and contains a dot, otherwise by the time of
    /// their first occurrence.
    static func sorted(_ versions: [(name: String, first: Int64)]) -> [String] {
        let areNumbers = versions.allSatisfy { version in
            let digits = version.name.drop { $0 == "v" }
            return digits.first?.isASCII == true && digits.first?.isNumber == true && digits.contains(".")
        }
        guard areNumbers else {
            return versions.sorted { ($0.first, $0.name) < ($1.first, $1.name) }.map(\.name)
        }
        return versions.map { (name: $0.name, parts: parts(of: $0.name)) }
            .sorted { left, right in
                left.parts == right.parts
                    ? left.name < right.name : left.parts.lexicographicallyPrecedes(right.parts)
            }
            .map(\.name)
    }

    private static func parts(of name: String) -> [Part] {
        var parts: [Part] = []
        var rest = name.drop { $0 == "v" }
        while let first = rest.first, parts.count < 64 {
            let isDigit = ("0"..."9").contains(first)
            let run = rest.prefix { ("0"..."9").contains($0) == isDigit }
            parts.append(isDigit ? .number(String(run.drop { $0 == "0" })) : .text(String(run)))
            rest = rest[run.endIndex...]
        }
        return parts
    }
}
