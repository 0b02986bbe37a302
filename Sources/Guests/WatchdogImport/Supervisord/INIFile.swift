// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The sections of supervisord's configuration, parsed like Python's RawConfigParser in supervisord.
///
/// Sections with the same name are merged, the last of several equal options wins, and a line with more indentation
/// than the option above continues it: docs.python.org, "configparser".
struct INIFile {
    struct Option {
        let key: String
        var value: String
        let place: ImportPlace
        /// The folder of its file: `%(here)s`.
        let folder: String
    }

    struct Section {
        let name: String
        let place: ImportPlace
        fileprivate(set) var options: [Option] = []

        func option(_ key: String) -> Option? { options.first { $0.key == key } }
    }

    private(set) var sections: [Section] = []
    /// Notes about surprising results of the parsing rules.
    private(set) var notes: [ImportNote] = []
    private var defaults = Section(name: defaultName, place: ImportPlace(file: ""))

    /// The maximum number of sections.
    private static let maximumCount = 1_000
    /// The options of this section are the defaults of all others.
    private static let defaultName = "DEFAULT"

    /// The target of options.
    private enum Target {
        case none
        case defaults
        case section(Int)
    }

    /// Reads a file; its options replace those of earlier files.
    ///
    /// - Parameter folder: the folder of the file.
    mutating func read(_ file: ConfigurationFile, folder: String) throws(ImportError) {
        var target = Target.none
        var key: String?
        var indent = 0
        for (index, line) in try ForeignText.lines(of: file).enumerated() {
            let (text, hasComment) = Self.withoutComment(line)
            guard !text.isEmpty else {
                // Only an empty line without a comment is part of the value above it.
                if !hasComment, let key { append("", to: key, of: target) }
                continue
            }
            let depth = line.prefix(while: \.isWhitespace).count
            let place = ImportPlace(file: file.path, line: index + 1)
            if let key, depth > indent {
                append(text, to: key, of: target)
                if let mark = text.firstIndex(where: { $0 == "=" || $0 == ":" }),
                    SupervisordProgram.keys.contains(text[..<mark].trimmed.lowercased())
                {
                    let message =
                        "\(Printable.quoted(text)) is indented further than \(key)= and so part of its value, "
                        + "as for supervisord"
                    notes.append(ImportNote(kind: .changed, place: place, message: message))
                }
                continue
            }
            indent = depth
            if let name = try Self.header(text, place) {
                target = try section(String(name), place)
                key = nil
            } else {
                let option = try Self.option(text, place, folder)
                if case .none = target { throw ImportError(place, "the setting comes before the first section") }
                set(option, in: target)
                key = option.key
            }
        }
        finish()
    }

    // MARK: - Lines

    /// The name in brackets; nil for other lines.
    private static func header(_ text: String, _ place: ImportPlace) throws(ImportError) -> Substring? {
        guard text.first == "[" else { return nil }
        // Up to the last bracket: `.+` in the parser's regular expression is greedy.
        guard let close = text.lastIndex(of: "]"), text.index(after: text.startIndex) < close else {
            // Python's parser accepts `[x=1` as an option, but it is certainly a mistake.
            throw ImportError(place, "the \"]\" is missing after the section's name; write [program:NAME]")
        }
        return text[text.index(after: text.startIndex)..<close]
    }

    private static func option(
        _ text: String, _ place: ImportPlace, _ folder: String
    ) throws(ImportError) -> Option {
        guard let mark = text.firstIndex(where: { $0 == "=" || $0 == ":" }), mark > text.startIndex else {
            throw ImportError(place, "\(Printable.quoted(text)) is neither a [section] nor key=value")
        }
        let key = text[..<mark].trimmed.lowercased()
        let value = String(text[text.index(after: mark)...].trimmed)
        return Option(key: key, value: value, place: place, folder: folder)
    }

    /// The trimmed line without its comment, and whether it had one.
    private static func withoutComment(_ line: String) -> (text: String, hasComment: Bool) {
        let text = line.trimmed
        guard let first = text.first, first != ";", first != "#" else { return ("", !text.isEmpty) }
        // supervisord enables both marks for inline comments. In each round, the parser searches for the next
        // occurrence of each mark, so the first one after a blank does not always win.
        var search: [(mark: Character, from: String.Index)] = [(";", line.startIndex), ("#", line.startIndex)]
        var start: String.Index?
        while start == nil, !search.isEmpty {
            var next: [(mark: Character, from: String.Index)] = []
            for (mark, from) in search {
                guard let found = line[from...].firstIndex(of: mark) else { continue }
                next.append((mark, line.index(after: found)))
                let isComment = found == line.startIndex || line[line.index(before: found)].isWhitespace
                if isComment { start = min(start ?? found, found) }
            }
            search = next
        }
        guard let start else { return (String(text), false) }
        return (String(line[..<start].trimmed), true)
    }

    // MARK: - Sections and options

    private mutating func section(_ name: String, _ place: ImportPlace) throws(ImportError) -> Target {
        if name == Self.defaultName { return .defaults }
        if let index = sections.firstIndex(where: { $0.name == name }) { return .section(index) }
        guard sections.count < Self.maximumCount else {
            throw ImportError(place, "the file has more than 1,000 sections")
        }
        sections.append(Section(name: name, place: place))
        return .section(sections.count - 1)
    }

    private mutating func change(_ target: Target, _ body: (inout Section) -> Void) {
        switch target {
        case .none: break
        case .defaults: body(&defaults)
        case .section(let index): body(&sections[index])
        }
    }

    private mutating func set(_ option: Option, in target: Target) {
        var replaced: Option?
        change(target) { section in
            if let index = section.options.firstIndex(where: { $0.key == option.key }) {
                replaced = section.options.remove(at: index)
            }
            section.options.append(option)
        }
        guard let replaced else { return }
        let shown = Printable.setting(replaced.key, replaced.value.trimmed)
        let message = "\(shown) is set again at \(option.place), which is what supervisord takes"
        notes.append(ImportNote(kind: .dropped, place: replaced.place, message: message))
    }

    private mutating func append(_ text: String, to key: String, of target: Target) {
        change(target) { section in
            guard let index = section.options.firstIndex(where: { $0.key == key }) else { return }
            section.options[index].value += "\n" + text
        }
    }

    /// Removes empty lines at the ends of values.
    private mutating func finish() {
        func trim(_ section: inout Section) {
            for index in section.options.indices {
                while section.options[index].value.last?.isWhitespace == true {
                    section.options[index].value.removeLast()
                }
            }
        }
        for index in sections.indices { trim(&sections[index]) }
        trim(&defaults)
    }

    /// A section with the defaults from `[DEFAULT]`.
    func complete(_ section: Section) -> Section {
        var complete = section
        complete.options += defaults.options.filter { section.option($0.key) == nil }
        return complete
    }
}
