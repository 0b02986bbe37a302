// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// A file of variables, `.env` or an `env_file`, parsed like compose: docs.docker.com, "Syntax for environment files".
struct DotEnvFile {
    /// The values by name; the last line of a name wins.
    private(set) var values: [String: ComposeVariables.Value] = [:]
    /// The line of each variable.
    private(set) var lines: [String: Int] = [:]

    /// Reads a file.
    ///
    /// - Parameter outer: the variables that take precedence over those of the file.
    /// - Throws: ``ImportError`` for a line that this reader does not support, even if compose does.
    init(_ file: ConfigurationFile, outer: ComposeVariables = ComposeVariables()) throws(ImportError) {
        var length = 0
        for (index, text) in try ForeignText.lines(of: file).enumerated() {
            var line = text.trimmed
            guard let first = line.first, first != "#" else { continue }
            if let rest = line.dropping("export "), !rest.trimmed.hasPrefix("=") { line = rest.trimmed }
            let place = ImportPlace(file: file.path, line: index + 1)
            let name = line.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) || "_.-[]".contains($0) }
            let rest = line.dropFirst(name.count).trimmed
            guard !name.isEmpty, rest.isEmpty || rest.first == "=" || rest.first == ":" else {
                throw ImportError(place, "\(Printable.quoted(line)) is not NAME=VALUE")
            }
            // A name without a value inherits from compose's environment, which is unknown here.
            guard !rest.isEmpty else { continue }
            let value = try Self.value(rest.dropFirst().trimmed, values, outer, place)
            if case .text(let text) = value { length += text.utf8.count }
            guard length <= ForeignText.maximumLength else {
                throw ImportError(place, "the values of the file together are longer than 1 MiB")
            }
            values[String(name)] = value
            lines[String(name)] = index + 1
        }
    }

    private static func value(
        _ text: Substring, _ earlier: [String: ComposeVariables.Value], _ outer: ComposeVariables, _ place: ImportPlace
    ) throws(ImportError) -> ComposeVariables.Value {
        var raw = String(text)
        var isLiteral = false
        if let quote = text.first, quote == "\"" || quote == "'" {
            guard let (body, rest) = quoted(text), rest.trimmed.isEmpty || rest.trimmed.hasPrefix("#") else {
                throw ImportError(
                    place,
                    "a quote that does not end its line is not supported; import what 'docker compose config' prints")
            }
            isLiteral = quote == "'"
            guard let text = isLiteral ? (body.contains("\\") ? nil : body) : unescaped(body) else {
                throw ImportError(
                    place, "such a backslash is not supported; import what 'docker compose config' prints")
            }
            raw = text
        } else {
            guard !text.hasPrefix("#") else {
                return .unknown("\(place): is \"#\" a value or a comment there? Put the value in quotes")
            }
            // Only a # after a blank starts a comment.
            for index in text.indices where text[index...].hasPrefix(" #") {
                raw = String(text[..<index].trimmed)
                break
            }
        }
        guard !isLiteral else { return .text(raw) }
        var variables = ComposeVariables(values: earlier)
        variables.values.merge(outer.values) { _, outer in outer }
        do throws(ComposeVariables.Unknown) {
            return .text(try variables.replaced(raw).text)
        } catch {
            return .unknown("\(place): \(error.message)")
        }
    }

    /// The quoted text with its escapes, and the rest.
    private static func quoted(_ text: Substring) -> (body: String, rest: Substring)? {
        guard let quote = text.first else { return nil }
        var isEscaped = false
        for index in text.indices.dropFirst() {
            if text[index] == quote, !isEscaped {
                return (String(text[..<index].dropFirst()), text[text.index(after: index)...])
            }
            isEscaped = text[index] == "\\" && !isEscaped
        }
        return nil
    }

    /// Decodes the escapes of double quotes, and doubles dollar signs; nil for an unknown escape.
    private static func unescaped(_ text: String) -> String? {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "\\") {
            result += rest[..<mark]
            guard let replacement = rest[mark...].dropFirst().first.flatMap({ escapes[$0] }) else { return nil }
            result += replacement
            rest = rest[mark...].dropFirst(2)
        }
        return result + rest
    }

    private static let escapes: [Character: String] = [
        "n": "\n", "r": "\r", "t": "\t", "\"": "\"", "\\": "\\", "$": "$$",
    ]
}
