// SPDX-License-Identifier: Apache-2.0

/// Distinguishes keys, hashes and tokens from words.
enum RandomText {
    /// 128 bits in hexadecimal, the shortest key in use.
    static let hexadecimalLength = 32
    /// Letters and digits in one run; 96 bits in Base64.
    static let runLength = 16
    /// Adjacent characters of different kinds (upper case, lower case, digit), as a percentage of all pairs: 62 in
    /// random Base64, about 20 in words with numbers.
    static let changesPercent = 35
    /// The threshold for runs with fewer than two digits, which could also be joined words; those reach 40.
    static let changesPercentOfLetters = 50

    /// Whether a text contains a long hexadecimal number, or a run of letters and digits that looks random.
    ///
    /// Path components are not tested for hexadecimal: containers, package stores and object files are named after
    /// hashes.
    static func isLikely(_ text: Substring) -> Bool {
        let isPath = text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("~/")
        let runs = text.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
        return runs.contains { run in
            if run.count >= hexadecimalLength, run.allSatisfy(\.isHexDigit) { return !isPath }
            return isRandom(run, mustMixCase: isPath)
        }
    }

    private enum Kind {
        case capital
        case small
        case digit
    }

    private static func isRandom(_ run: Substring, mustMixCase: Bool) -> Bool {
        guard run.count >= runLength else { return false }
        let kinds = run.map { character -> Kind in
            character.isNumber ? .digit : character.isUppercase ? .capital : .small
        }
        let digits = kinds.count { $0 == .digit }
        guard kinds.count - digits >= 2 else { return false }
        if mustMixCase, !(kinds.contains(.capital) && kinds.contains(.small)) { return false }
        let changes = zip(kinds, kinds.dropFirst()).count { $0 != $1 }
        return changes * 100 >= (kinds.count - 1) * (digits >= 2 ? changesPercent : changesPercentOfLetters)
    }
}
