// SPDX-License-Identifier: Apache-2.0

/// Parses the sections and assignments of a file: systemd.syntax(7).
struct UnitSyntax {
    enum Statement {
        /// The header with its brackets, and the name in them.
        case section(header: SourceText, name: SourceText)
        case assignment(key: SourceText, value: SourceText)
    }

    /// systemd's limit for a line with all its continuations.
    static let maximumLine = 1 << 20

    private let file: SourceFile
    private let number: Int
    private var statements: [Statement] = []
    private var pending: (bytes: [UInt8], pieces: [SourceText.Piece])?
    /// Whether a part of the continued line was invalid and has been reported.
    private var isSpoilt = false

    /// Parses the statements of a file; invalid ones are reported and dropped.
    static func statements(of number: Int, _ diagnostics: inout DiagnosticCollector) -> [Statement] {
        var syntax = UnitSyntax(file: diagnostics.files[number], number: number)
        syntax.read(&diagnostics)
        return syntax.statements
    }

    private init(file: SourceFile, number: Int) {
        self.file = file
        self.number = number
    }

    private mutating func read(_ diagnostics: inout DiagnosticCollector) {
        guard file.bytes.count <= ConfigurationFile.maximumLength else {
            diagnostics.report(.error, file: number, "the file is longer than 4 MiB")
            return
        }
        for index in file.lines.indices { take(line: index, &diagnostics) }
        // A backslash at the end of the file continues nothing.
        endLine(&diagnostics)
    }

    private mutating func take(line index: Int, _ diagnostics: inout DiagnosticCollector) {
        let line = file.bytes[file.lines[index]]
        let start = SourcePosition(file: number, line: index, byte: 0)
        // Checked first: even in a comment, a NUL means that this is not a text file.
        var fault = fault(in: line)
        // Comments between continued lines do not end the line.
        if fault?.isInComments != true, let first = line.first(where: { !$0.isBlank }), first.isComment { return }

        let backslashes = line.reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        let isContinued = backslashes % 2 == 1
        var (bytes, pieces) = pending ?? ([], [])
        // Otherwise each append would copy the whole line so far.
        pending = nil
        if fault == nil, bytes.count + line.count > Self.maximumLine {
            fault = Fault(offset: 0, message: "the line is longer than 1 MiB", isInComments: false)
        }
        if let fault {
            if !isSpoilt {
                let place = SourcePosition(file: number, line: index, byte: fault.offset)
                diagnostics.report(.error, at: place, fault.message)
            }
            isSpoilt = true
        }
        if !isSpoilt {
            pieces.append(SourceText.Piece(offset: bytes.count, position: start))
            bytes += line
            if isContinued { bytes[bytes.count - 1] = UInt8(ascii: " ") }
        }
        if !isSpoilt { pending = (bytes, pieces) }
        guard !isContinued else { return }
        endLine(&diagnostics)
    }

    private struct Fault {
        let offset: Int
        let message: String
        /// Whether it also counts in a comment.
        let isInComments: Bool
    }

    private func fault(in line: ArraySlice<UInt8>) -> Fault? {
        if let index = line.firstIndex(of: 0) {
            let message = "a NUL byte: this is not a text file"
            return Fault(offset: index - line.startIndex, message: message, isInComments: true)
        }
        if let index = line.firstInvalidUTF8 {
            let byte = String(line[index], radix: 16)
            let message = "the byte 0x\(byte) is not valid UTF-8: save the file as UTF-8"
            return Fault(offset: index - line.startIndex, message: message, isInComments: true)
        }
        guard let index = line.firstIndex(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }) else { return nil }
        let digits = String(line[index], radix: 16, uppercase: true)
        let code = String(repeating: "0", count: 4 - digits.utf8.count) + digits
        let message = "the control character U+\(code): write it as an escape, such as \\t, or leave it out"
        return Fault(offset: index - line.startIndex, message: message, isInComments: false)
    }

    private mutating func endLine(_ diagnostics: inout DiagnosticCollector) {
        let line = pending
        pending = nil
        guard !isSpoilt else {
            isSpoilt = false
            return
        }
        guard let line else { return }
        let text = SourceText(line: line.bytes, pieces: line.pieces).trimmed
        guard !text.isEmpty else { return }
        if text[0] == UInt8(ascii: "[") {
            readSection(text, &diagnostics)
        } else {
            readAssignment(text, &diagnostics)
        }
    }

    private mutating func readSection(_ text: SourceText, _ diagnostics: inout DiagnosticCollector) {
        guard let close = text.firstIndex(of: UInt8(ascii: "]")) else {
            diagnostics.report(
                .error, at: text.position(at: text.count), "the \"]\" is missing after the section's name")
            return
        }
        statements.append(.section(header: text[0..<(close + 1)], name: text[1..<close].trimmed))
        let rest = text.from(close + 1).trimmed
        guard !rest.isEmpty else { return }
        let comment = rest[0].isComment ? "; comments must be on their own lines" : ""
        diagnostics.report(
            .error, at: rest.position(at: 0), length: rest.count, "nothing may follow the section's name\(comment)")
    }

    private mutating func readAssignment(_ text: SourceText, _ diagnostics: inout DiagnosticCollector) {
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else {
            diagnostics.report(
                .error, at: text.position(at: 0), length: text.count,
                "the line has no \"=\": write Key=Value, or # before a comment")
            return
        }
        guard equals > 0 else {
            diagnostics.report(.error, at: text.position(at: 0), "the key is missing before \"=\"")
            return
        }
        statements.append(.assignment(key: text[0..<equals].trimmed, value: text.from(equals + 1).trimmed))
    }
}

extension UInt8 {
    fileprivate var isComment: Bool { self == UInt8(ascii: "#") || self == UInt8(ascii: ";") }
}

extension ArraySlice<UInt8> {
    fileprivate var firstInvalidUTF8: Int? {
        guard String(validating: self, as: UTF8.self) == nil else { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = makeIterator()
        var index = startIndex
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): index += scalar.count
            case .error: return index
            case .emptyInput: return nil
            }
        }
    }
}
