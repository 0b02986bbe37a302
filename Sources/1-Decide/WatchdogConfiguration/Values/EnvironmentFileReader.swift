// SPDX-License-Identifier: Apache-2.0

/// The state machine behind ``EnvironmentFile/read(_:)``.
struct EnvironmentFileReader {
    private enum State {
        case beforeKey
        case comment
        case key
        case beforeValue
        case value
        case escapeInValue
        case singleQuotes
        case doubleQuotes
        case escapeInDoubleQuotes
    }

    /// Enough to make the point; a binary file has thousands.
    private static let maximumDiagnostics = 20

    private let path: String
    private var state = State.beforeKey
    private var line = 1
    private var keyLine = 1
    private var key: [UInt8] = []
    private var value: [UInt8] = []
    /// The length of ``value`` without blanks that may turn out to be trailing.
    private var valueEnd = 0
    private var contents = EnvironmentFile.Contents()

    static func read(_ file: ConfigurationFile) -> EnvironmentFile.Contents {
        var reader = EnvironmentFileReader(path: file.path)
        guard file.contents.count <= ConfigurationFile.maximumLength else {
            let message = "the file is longer than 4 MiB and is not read"
            reader.contents.diagnostics = [ConfigurationDiagnostic(.warning, file: file.path, message)]
            return reader.contents
        }
        let isMarked = file.contents.starts(with: [0xef, 0xbb, 0xbf])
        for byte in file.contents.dropFirst(isMarked ? 3 : 0) {
            reader.take(byte)
            if byte == UInt8(ascii: "\n") { reader.line += 1 }
        }
        reader.finish()
        return reader.contents
    }

    private init(path: String) {
        self.path = path
    }

    private mutating func take(_ byte: UInt8) {
        let isNewline = byte == UInt8(ascii: "\n")
        switch state {
        case .beforeKey:
            if byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";") {
                state = .comment
            } else if !byte.isBlank {
                state = .key
                keyLine = line
                key = [byte]
            }
        case .comment:
            if isNewline { state = .beforeKey }
        case .key:
            if isNewline {
                state = .beforeKey
            } else if byte == UInt8(ascii: "=") {
                state = .beforeValue
                value = []
                valueEnd = 0
            } else {
                key.append(byte)
            }
        case .beforeValue:
            switch byte {
            case UInt8(ascii: "\n"): push()
            case UInt8(ascii: "'"): state = .singleQuotes
            case UInt8(ascii: "\""): state = .doubleQuotes
            case UInt8(ascii: "\\"): state = .escapeInValue
            case _ where byte.isBlank: break
            default:
                state = .value
                append(byte)
            }
        case .value:
            if isNewline {
                push()
            } else if byte == UInt8(ascii: "\\") {
                state = .escapeInValue
            } else if byte.isBlank {
                value.append(byte)
            } else {
                append(byte)
            }
        case .escapeInValue:
            state = .value
            if !isNewline { append(byte) } else { valueEnd = value.count }
        case .singleQuotes:
            if byte == UInt8(ascii: "'") { state = .beforeValue } else { append(byte) }
        case .doubleQuotes:
            switch byte {
            case UInt8(ascii: "\""): state = .beforeValue
            case UInt8(ascii: "\\"): state = .escapeInDoubleQuotes
            default: append(byte)
            }
        case .escapeInDoubleQuotes:
            state = .doubleQuotes
            // As in double quotes in a POSIX shell.
            if !"\"\\`$\n".utf8.contains(byte) { append(UInt8(ascii: "\\")) }
            if !isNewline { append(byte) }
        }
    }

    private mutating func append(_ byte: UInt8) {
        value.append(byte)
        valueEnd = value.count
    }

    private mutating func finish() {
        switch state {
        case .beforeKey, .comment, .key: break
        case .beforeValue, .value, .escapeInValue: push()
        case .singleQuotes, .doubleQuotes, .escapeInDoubleQuotes:
            warn("the quote of this value is never closed")
            push()
        }
    }

    private mutating func push() {
        state = .beforeKey
        let name = String(decoding: key, as: UTF8.self)
        let trimmed = name.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }.reversed()
        guard Variables.isName(String(trimmed)) else {
            warn("\(String(trimmed).quoted()) is not a variable name")
            return
        }
        let bytes = value.prefix(valueEnd)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            warn("the value of \(String(trimmed)) is not valid UTF-8")
            return
        }
        guard !bytes.contains(0) else {
            warn("the value of \(String(trimmed)) contains a NUL byte")
            return
        }
        contents.variables.append(EnvironmentVariable(name: String(trimmed), value: text))
    }

    private mutating func warn(_ message: String) {
        guard contents.diagnostics.count < Self.maximumDiagnostics else { return }
        let place = ConfigurationPlace(file: path, line: keyLine, column: 1)
        contents.diagnostics.append(ConfigurationDiagnostic(.warning, at: place, message))
    }
}
