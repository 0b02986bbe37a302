// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The sections of supervisord's configuration, in the syntax of Python's ConfigParser.
struct INIFile {
    struct Option {
        let key: String
        var value: String
        let place: ImportPlace
    }

    struct Section {
        let name: String
        let place: ImportPlace
        var options: [Option] = []
    }

    private(set) var sections: [Section] = []

    /// No file that people write has more sections.
    private static let maximumCount = 1_000

    /// Reads a file.
    init(_ file: ConfigurationFile) throws(ImportError) {
        let lines = try ForeignText.lines(of: file)
        for (index, raw) in lines.enumerated() {
            let place = ImportPlace(file: file.path, line: index + 1)
            let isContinuation = raw.first.map { $0 == " " || $0 == "\t" } ?? false
            let line = Self.withoutComment(raw)
            guard let first = line.first else { continue }
            if isContinuation, sections.last?.options.isEmpty == false {
                let section = sections.count - 1
                sections[section].options[sections[section].options.count - 1].value += "\n" + line
            } else if first == "[" {
                guard let close = line.firstIndex(of: "]") else {
                    throw ImportError(place, "the \"]\" is missing after the section's name")
                }
                let name = String(line[line.index(after: line.startIndex)..<close])
                guard !sections.contains(where: { $0.name == name }) else {
                    throw ImportError(place, "the section [\(Printable.text(name, limit: 60))] is in the file twice")
                }
                guard sections.count < Self.maximumCount else {
                    throw ImportError(place, "the file has more than 1,000 sections")
                }
                sections.append(Section(name: name, place: place))
            } else {
                guard let mark = line.firstIndex(where: { $0 == "=" || $0 == ":" }), mark > line.startIndex else {
                    throw ImportError(place, "\(Printable.quoted(line)) is neither a [section] nor key=value")
                }
                guard !sections.isEmpty else { throw ImportError(place, "the setting comes before the first section") }
                let key = line[..<mark].trimmed.lowercased()
                let value = String(line[line.index(after: mark)...].trimmed)
                sections[sections.count - 1].options.append(Option(key: key, value: value, place: place))
            }
        }
    }

    /// The line without comments and the blanks at both ends.
    private static func withoutComment(_ line: String) -> String {
        let text = line.trimmed
        guard let first = text.first, first != ";", first != "#" else { return "" }
        // Only a semicolon after a blank begins a comment within a line.
        var previous: Character = "x"
        for index in text.indices {
            if text[index] == ";", previous == " " || previous == "\t" { return String(text[..<index].trimmed) }
            previous = text[index]
        }
        return String(text)
    }
}
