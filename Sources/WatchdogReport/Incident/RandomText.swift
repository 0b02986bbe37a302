// SPDX-License-Identifier: Apache-2.0

/// Tells keys, hashes and tokens from words.
enum RandomText {
    /// 128 bits in hexadecimal, the shortest key in use.
    static let hexadecimalLength = 32
    /// Letters and digits in one run; 96 bits in base 64.
    static let runLength = 16
    /// Neighbours of different kinds (capital, small letter, digit), in percent of all: 62 in random base 64, about 20
    /// in words with numbers.
    static let changesPercent = 35
    /// The same where fewer than two digits tell a run from words written together, which reach 40.
    static let changesPercentOfLetters = 50

    /// True for a text that holds a long hexadecimal number, or a run of letters and digits as only chance makes it.
    ///
    /// The parts of a path are not tested for hexadecimal: containers, stores of packages and object files have hashes
    /// for names.
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
