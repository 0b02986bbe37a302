// SPDX-License-Identifier: Apache-2.0

/// The place where a text stops being JSON (RFC 8259), or holds a number that is no integer.
struct JSONFault: Equatable {
    /// From 1.
    let line: Int
    /// Bytes before it.
    let offset: Int
    /// What is wrong.
    let what: String

    /// The first fault of a text, or nil when it is JSON and its numbers are integers.
    static func first(in bytes: [UInt8]) -> JSONFault? {
        var scanner = JSONScanner(bytes: bytes)
        do {
            try scanner.scanDocument()
            return nil
        } catch {
            let line = bytes.prefix(error.offset).reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
            return JSONFault(line: line, offset: error.offset, what: error.what)
        }
    }
}

/// Walks through a text without keeping anything.
private struct JSONScanner {
    struct Fault: Error {
        let offset: Int
        let what: String
    }

    /// As deep as the decoder goes.
    private static let depthLimit = 512

    let bytes: [UInt8]
    private var offset = 0
    private var depth = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func scanDocument() throws(Fault) {
        try scanValue()
        skipBlanks()
        guard offset == bytes.count else { throw fault("text after the end") }
    }

    private func fault(_ what: String) -> Fault {
        Fault(offset: offset, what: offset >= bytes.count ? "the file ends too early: \(what)" : what)
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || (0x09...0x0a).contains(byte) || byte == 0x0d { offset += 1 }
    }

    private mutating func scanValue() throws(Fault) {
        skipBlanks()
        switch next {
        case UInt8(ascii: "{"): try scanList(end: UInt8(ascii: "}"), isObject: true)
        case UInt8(ascii: "["): try scanList(end: UInt8(ascii: "]"), isObject: false)
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "t"): try scanWord("true")
        case UInt8(ascii: "f"): try scanWord("false")
        case UInt8(ascii: "n"): try scanWord("null")
        case let byte? where byte == UInt8(ascii: "-") || byte.isDigit: try scanNumber()
        default: throw fault("expected a value")
        }
    }

    private mutating func scanList(end: UInt8, isObject: Bool) throws(Fault) {
        depth += 1
        guard depth <= Self.depthLimit else { throw fault("nested too deeply") }
        let close = isObject ? "object's end" : "array's end"
        offset += 1
        skipBlanks()
        if next == end {
            offset += 1
            depth -= 1
            return
        }
        while true {
            if isObject {
                skipBlanks()
                guard next == UInt8(ascii: "\"") else { throw fault("expected a key") }
                try scanString()
                skipBlanks()
                guard next == UInt8(ascii: ":") else { throw fault("expected a colon") }
                offset += 1
            }
            try scanValue()
            skipBlanks()
            guard let byte = next, byte == end || byte == UInt8(ascii: ",") else {
                throw fault("expected a comma or the \(close)")
            }
            offset += 1
            if byte == end { break }
        }
        depth -= 1
    }

    private mutating func scanString() throws(Fault) {
        let start = offset
        offset += 1
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw fault("control character in a string") }
            offset += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        guard next != nil else { throw fault("string without an end") }
        offset += 1
        let text = bytes[start..<offset]
        guard String(validating: text, as: UTF8.self) != nil else {
            throw Fault(offset: start, what: "string is not UTF-8")
        }
    }

    private mutating func scanNumber() throws(Fault) {
        let start = offset
        if next == UInt8(ascii: "-") { offset += 1 }
        let digits = offset
        while next?.isDigit == true { offset += 1 }
        guard offset > digits else { throw fault("expected a digit") }
        if let byte = next, ".eE".utf8.contains(byte) { throw Fault(offset: start, what: "number is not an integer") }
        guard bytes[digits] != UInt8(ascii: "0") || offset == digits + 1 else {
            throw Fault(offset: start, what: "number begins with 0")
        }
    }

    private mutating func scanWord(_ word: StaticString) throws(Fault) {
        let end = offset + word.utf8CodeUnitCount
        guard end <= bytes.count,
            word.withUTF8Buffer({ $0.elementsEqual(bytes[offset..<end]) })
        else { throw fault("expected \(word)") }
        offset = end
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
