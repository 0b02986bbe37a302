// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The value types of settings: "INTRODUCTION" in systemd.syntax(7).
enum ValueReader {
    /// No valid number, time span or keyword is longer.
    private static let maximumLength = 128

    /// A short value as text.
    static func short(_ text: SourceText) throws(ValueError) -> String {
        guard text.count <= maximumLength else {
            throw ValueError(message: "the value is longer than \(maximumLength) bytes", length: text.count)
        }
        return text.string
    }

    /// `yes`, `no` and systemd's other spellings, ignoring case.
    static func boolean(_ text: SourceText) throws(ValueError) -> Bool {
        let word = try short(text)
        switch word.lowercased() {
        case "1", "yes", "y", "true", "t", "on": return true
        case "0", "no", "n", "false", "f", "off": return false
        default: throw ValueError(message: "\(word.quoted()) is neither yes nor no", length: text.count)
        }
    }

    /// A time span with its unit.
    static func span(_ text: SourceText, atLeast minimum: Duration = .zero) throws(ValueError) -> Duration {
        let word = try short(text)
        guard word.lowercased() != "infinity" else {
            throw ValueError(message: "a time span cannot be infinite; write for example 1h or 30d", length: text.count)
        }
        let duration: Duration
        do throws(TimeSpan.SyntaxError) {
            duration = try TimeSpan.parse(word)
        } catch {
            throw ValueError(
                message: error.description.singleLine(), offset: error.offset, length: text.count - error.offset)
        }
        guard duration >= minimum else {
            let message = "\(word.quoted()) is too short: use at least \(TimeSpan.text(minimum))"
            throw ValueError(message: message, length: text.count)
        }
        return duration
    }

    /// One of a list of words.
    static func choice<Value>(
        _ text: SourceText, _ choices: [(word: String, value: Value)], synonyms: [String: String] = [:]
    ) throws(ValueError) -> Value {
        let word = try short(text)
        if let choice = choices.first(where: { $0.word == word }) { return choice.value }
        let words = choices.map(\.word)
        let last = words.last ?? ""
        let list = "\(words.dropLast().joined(separator: ", ")) or \(last)"
        throw ValueError(
            message: "\(word.quoted()) is not one of \(list)", length: text.count,
            suggestion: synonyms[word] ?? Similarity.nearest(to: word, among: words))
    }

    /// A decimal integer.
    static func integer(
        _ text: SourceText, in range: ClosedRange<Int>, signed: Bool = false
    ) throws(ValueError) -> Int {
        let word = try short(text)
        let digits = signed && (word.hasPrefix("-") || word.hasPrefix("+")) ? word.dropFirst() : word[...]
        guard let first = digits.utf8.first, first.isDigit, let number = Int(word), range.contains(number) else {
            let message = "\(word.quoted()) is not a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw ValueError(message: message, length: text.count)
        }
        return number
    }

    /// A decimal number without a sign, up to 2⁶⁴ − 2: the last value stands for infinity.
    static func count(_ text: SourceText) throws(ValueError) -> UInt64 {
        let word = try short(text)
        guard word.utf8.first?.isDigit == true, let number = UInt64(word), number < .max else {
            throw ValueError(message: "\(word.quoted()) is not a whole number", length: text.count)
        }
        return number
    }

    /// A positive decimal number, with or without a fraction.
    static func factor(_ text: SourceText, in range: ClosedRange<Double>) throws(ValueError) -> Double {
        let word = try short(text)
        let isPlain = word.utf8.first?.isDigit == true && word.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
        guard isPlain, let number = Double(word), range.contains(number) else {
            let message = "\(word.quoted()) is not a number from \(range.lowerBound) to \(range.upperBound)"
            throw ValueError(message: message.replacing(".0 ", with: " ").removingSuffix(".0"), length: text.count)
        }
        return number
    }

    /// A number of bytes, with systemd's suffixes, each 1024 times the previous one.
    static func size(_ text: SourceText) throws(ValueError) -> UInt64 {
        let word = try short(text)
        let wrong = ValueError(
            message: "\(word.quoted()) is not a size; write bytes or for example 512K, 256M, 1.5G", length: text.count)
        let number = word.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let suffix = word.dropFirst(number.count)
        let shift: UInt64
        switch suffix.drop(while: { $0 == " " }) {
        case "", "B": shift = 0
        case "K": shift = 10
        case "M": shift = 20
        case "G": shift = 30
        case "T": shift = 40
        case "P": shift = 50
        case "E": shift = 60
        case "k", "m", "g", "t", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "Ki", "Mi", "Gi", "Ti":
            var suggestion = wrong
            suggestion.suggestion = number + suffix.drop { $0 == " " }.prefix(1).uppercased()
            throw suggestion
        default: throw wrong
        }
        guard let decimal = Decimal(number), let bytes = decimal.scaled(by: 1 << shift), bytes < .max else {
            throw wrong
        }
        return bytes
    }

    /// A percentage, in hundredths of a percent.
    static func percentage(_ text: SourceText) throws(ValueError) -> UInt64? {
        let word = try short(text)
        guard word.hasSuffix("%") else { return nil }
        let number = word.dropLast()
        let fraction = number.drop { $0 != "." }.dropFirst()
        guard fraction.utf8.count <= 2, let decimal = Decimal(number), let share = decimal.scaled(by: 100) else {
            throw ValueError(
                message: "\(word.quoted()) is not a percentage; write for example 50% or 12.5%", length: text.count)
        }
        return share
    }

    /// An access mode in octal notation.
    static func octal(_ text: SourceText, upTo limit: UInt32) throws(ValueError) -> UInt32 {
        let word = try short(text)
        guard word.utf8.first?.isDigit == true, let mode = UInt32(word, radix: 8), mode <= limit else {
            let example = String(limit, radix: 8)
            throw ValueError(
                message: "\(word.quoted()) is not an octal number from 0 to \(example)", length: text.count)
        }
        return mode
    }
}

/// An exact decimal number without a sign.
private struct Decimal {
    let whole: UInt64
    let fraction: UInt64
    let scale: UInt64

    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let digits = parts.count > 1 ? parts[1] : "0"
        guard let first = parts.first, first.utf8.first?.isDigit == true, let whole = UInt64(first),
            digits.utf8.allSatisfy(\.isDigit), digits.utf8.count <= 9, let fraction = UInt64(digits)
        else { return nil }
        self.whole = whole
        self.fraction = fraction
        scale = (0..<digits.utf8.count).reduce(1) { scale, _ in scale * 10 }
    }

    /// Rounded toward zero; nil if it does not fit.
    func scaled(by factor: UInt64) -> UInt64? {
        let (product, isTooLarge) = whole.multipliedReportingOverflow(by: factor)
        let part = scale.dividingFullWidth(fraction.multipliedFullWidth(by: factor)).quotient
        let (sum, isStillTooLarge) = product.addingReportingOverflow(part)
        return isTooLarge || isStillTooLarge ? nil : sum
    }
}

extension String {
    fileprivate func removingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
