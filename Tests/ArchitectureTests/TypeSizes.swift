// SPDX-License-Identifier: Apache-2.0

/// The number of lines of each type of a module over all its declarations and extensions.
struct TypeSizes {
    /// From the line with the keyword to the one with the closing brace, by the outermost type's name.
    private(set) var lines: [String: Int] = [:]

    init(of texts: [String]) {
        for text in texts { count(SwiftCode.blanked(Array(text.utf8))) }
    }

    private mutating func count(_ code: [UInt8]) {
        var depth = 0
        /// The type whose body begins with the next brace, or is open.
        var open: (name: Substring, line: Int)?
        for (number, line) in code.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line, as: UTF8.self)
            if depth == 0, open == nil, let name = Self.name(in: text) { open = (name, number) }
            for byte in line {
                if byte == UInt8(ascii: "{") { depth += 1 }
                guard byte == UInt8(ascii: "}") else { continue }
                depth -= 1
                if depth == 0, let type = open {
                    lines[String(type.name), default: 0] += number - type.line + 1
                    open = nil
                }
            }
        }
    }

    /// The outermost name that a line declares or extends: `A` for `extension A.B`.
    private static func name(in line: String) -> Substring? {
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        let keywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "extension"]
        guard let place = words.firstIndex(where: keywords.contains), place + 1 < words.count else { return nil }
        return words[place + 1]
    }
}

/// Swift source without text that only looks like code.
enum SwiftCode {
    /// The same lines, with spaces in place of comments and literals.
    static func blanked(_ source: [UInt8]) -> [UInt8] {
        var blanking = Blanking(source: source, code: source)
        blanking.skipCode(until: nil)
        return blanking.code
    }

    private struct Blanking {
        let source: [UInt8]
        var code: [UInt8]
        private var offset = 0

        init(source: [UInt8], code: [UInt8]) {
            self.source = source
            self.code = code
        }

        private func starts(_ text: String) -> Bool { source[offset...].starts(with: text.utf8) }

        private mutating func blank(_ count: Int) {
            for _ in 0..<count where offset < source.count {
                if source[offset] != UInt8(ascii: "\n") { code[offset] = UInt8(ascii: " ") }
                offset += 1
            }
        }

        /// Reads code up to the end, or to the parenthesis that closes an interpolation.
        mutating func skipCode(until end: UInt8?) {
            var depth = 0
            while offset < source.count {
                let byte = source[offset]
                if end == byte, depth == 0 { return }
                if starts("//") {
                    while offset < source.count, source[offset] != UInt8(ascii: "\n") { blank(1) }
                } else if starts("/*") {
                    skipComment()
                } else if byte == UInt8(ascii: "\"") {
                    skipString(hashes: 0)
                } else if byte == UInt8(ascii: "#") {
                    skipHashes()
                } else {
                    if byte == UInt8(ascii: "(") { depth += 1 }
                    if byte == UInt8(ascii: ")") { depth -= 1 }
                    end == nil ? offset += 1 : blank(1)
                }
            }
        }

        /// Comments nest.
        private mutating func skipComment() {
            var depth = 0
            while offset < source.count {
                let step = starts("/*") ? 1 : starts("*/") ? -1 : 0
                depth += step
                blank(step == 0 ? 1 : 2)
                if depth == 0 { return }
            }
        }

        private mutating func skipHashes() {
            let hashes = source[offset...].prefix { $0 == UInt8(ascii: "#") }.count
            blank(hashes)
            if starts("\"") {
                skipString(hashes: hashes)
            } else if starts("/") {
                skip(to: "/" + String(repeating: "#", count: hashes))
            }
        }

        private mutating func skip(to end: String) {
            blank(1)
            while offset < source.count, !starts(end) { blank(1) }
            blank(end.utf8.count)
        }

        private mutating func skipString(hashes: Int) {
            let quote = starts("\"\"\"") ? "\"\"\"" : "\""
            let suffix = String(repeating: "#", count: hashes)
            blank(quote.utf8.count)
            while offset < source.count, !starts(quote + suffix) {
                if starts("\\" + suffix + "(") {
                    blank(hashes + 2)
                    skipCode(until: UInt8(ascii: ")"))
                    blank(1)
                } else {
                    blank(starts("\\" + suffix) ? hashes + 2 : 1)
                }
            }
            blank(quote.utf8.count + hashes)
        }
    }
}
