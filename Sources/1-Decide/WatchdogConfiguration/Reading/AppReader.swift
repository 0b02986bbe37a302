// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Reads the files of one app: the main file, then the drop-ins in order.
struct AppReader {
    /// The place of a setting.
    struct Setting {
        let key: SourceText
        let value: SourceText

        var position: SourcePosition { key.position(at: 0) }
    }

    /// The parts of ``WatchdogSettings/probe``, in any order.
    struct ProbeDraft {
        var target: ProbeSettings.Target?
        var interval: Duration?
        var timeout: Duration?
        var threshold: Int?
        var statuses: [ClosedRange<Int>]?
        var body: String?
    }

    /// The parts of ``WatchdogSettings/incidentHook``, in any order.
    struct HookDraft {
        var timeout: Duration?
        var occasion: IncidentHook.Occasion?
    }

    let expansion: SpecifierExpansion
    var diagnostics: DiagnosticCollector
    /// Not visible outside unless everything was read without an error.
    var draft: AppConfiguration
    private let defaults: AppConfiguration
    var command: Command?
    /// Whether `Enforce=restart-unit` is in force.
    var restartsUnit = false
    var probe = ProbeDraft()
    var hook = HookDraft()
    /// The index of each variable in the draft: a file may set ten thousand.
    var variableIndices: [String: Int] = [:]
    /// The settings in force; for a list, all parts.
    var settings: [ConfigurationKey: [Setting]] = [:]
    /// Keys whose value, or probably intended name, had an error: do not also report them as missing.
    var suspects: Set<ConfigurationKey> = []
    /// The first header of each section, or of the systemd section that it replaces.
    private(set) var headers: [ConfigurationSection: SourcePosition] = [:]

    init(name: AppName, files: [ConfigurationFile], specifiers: Specifiers) {
        expansion = SpecifierExpansion(specifiers, for: name)
        diagnostics = DiagnosticCollector(files: files.map { SourceFile($0) })
        defaults = AppConfiguration(name: name, command: Command(program: "", arguments: []))
        draft = defaults
    }

    mutating func read() {
        for file in diagnostics.files.indices { read(file) }
        checkWhole()
    }

    // MARK: - Sections

    /// The section that assignments belong to.
    private enum Context {
        case outside
        case section(ConfigurationSection)
        /// A section of systemd.
        case systemd
        /// An unknown section, already reported, or `X-…`, which is reserved for others.
        case ignored
    }

    private mutating func read(_ file: Int) {
        var context = Context.outside
        for statement in UnitSyntax.statements(of: file, &diagnostics) {
            switch statement {
            case .section(let header, let name):
                context = enter(name.string, header)
            case .assignment(let key, let value):
                if case .outside = context {
                    diagnostics.report(
                        .error, at: key.position(at: 0), length: key.count,
                        "the setting comes before the first section", suggestion: "[App]")
                    context = .section(.app)
                }
                assign(key, value, in: context)
            }
        }
    }

    private mutating func enter(_ name: String, _ text: SourceText) -> Context {
        if let section = ConfigurationSection(rawValue: name) {
            headers[section] = headers[section] ?? text.position(at: 0)
            return .section(section)
        }
        guard !name.hasPrefix("X-") else { return .ignored }
        let counterpart = SystemdKey.counterpart(ofSection: name)
        let names = ConfigurationSection.allCases.map(\.rawValue)
        let suggestion = counterpart?.rawValue ?? Similarity.nearest(to: name, among: names)
        let known = suggestion == nil ? "; the sections are [App], [Watchdog] and [Restart]" : ""
        diagnostics.report(
            .error, at: text.position(at: 0), length: text.count,
            "unknown section [\(name.singleLine(limit: 80))]\(known)",
            suggestion: suggestion.map { "[\($0)]" })
        if let counterpart {
            headers[counterpart] = headers[counterpart] ?? text.position(at: 0)
            return .systemd
        }
        return suggestion.flatMap { ConfigurationSection(rawValue: $0) }.map { .section($0) } ?? .ignored
    }

    // MARK: - Keys

    private mutating func assign(_ key: SourceText, _ value: SourceText, in context: Context) {
        let name = key.string
        guard !name.hasPrefix("X-") else { return }
        switch context {
        case .ignored, .outside:
            break
        case .section(let section):
            if let known = ConfigurationKey(rawValue: name) {
                if known.section != section { reportMisplaced(known, key) }
                apply(known, key, value)
            } else {
                reportUnknown(name, key, in: section)
            }
        case .systemd:
            if let known = ConfigurationKey(rawValue: name), known.section == .app {
                apply(known, key, value)
            } else {
                reportUnknown(name, key, in: nil)
            }
        }
    }

    private mutating func reportMisplaced(_ known: ConfigurationKey, _ key: SourceText) {
        let section = known.section.rawValue
        diagnostics.report(
            .error, at: key.position(at: 0), length: key.count, "\(known.rawValue)= belongs in [\(section)]")
    }

    /// Reports an unknown key.
    ///
    /// - Parameter section: nil for a section of systemd.
    private mutating func reportUnknown(_ name: String, _ key: SourceText, in section: ConfigurationSection?) {
        func report(_ message: String, suggestion: String? = nil) {
            diagnostics.report(
                .error, at: key.position(at: 0), length: key.count, message, suggestion: suggestion)
        }
        switch SystemdKey.counterpart(of: name) {
        case .key(let ours, let note)?:
            suspects.insert(ours)
            let isHere = ours.section == (section ?? .app)
            report(
                "systemd's \(name.singleLine())= has a different name here" + (note.map { ": \($0)" } ?? ""),
                suggestion: isHere ? ours.rawValue : "[\(ours.section.rawValue)] \(ours.rawValue)")
        case .none(let reason)?:
            report("\(name.singleLine())= has no counterpart: \(reason)")
        case nil:
            let near = ConfigurationKey.allCases.filter { section == nil || $0.section == section }.map(\.rawValue)
            let nearest =
                OtherName.key(for: name)?.rawValue
                ?? Similarity.nearest(to: name, among: near)
                ?? Similarity.nearest(to: name, among: ConfigurationKey.allCases.map(\.rawValue))
                ?? ConfigurationKey.sharingWords(with: name)?.rawValue
            let meant = nearest.flatMap { ConfigurationKey(rawValue: $0) }
            if let meant { suspects.insert(meant) }
            let isElsewhere = meant != nil && section != nil && meant?.section != section
            let place = section.map { " in [\($0.rawValue)]" } ?? ""
            report(
                "unknown key \(name.quoted())\(place)",
                suggestion: meant.map { isElsewhere ? "[\($0.section.rawValue)] \($0.rawValue)" : $0.rawValue })
        }
    }

    private mutating func apply(_ known: ConfigurationKey, _ key: SourceText, _ value: SourceText) {
        if value.isEmpty {
            settings[known] = nil
        } else {
            if !known.isList { warnOfRepetition(known, key) }
            settings[known, default: []].append(Setting(key: key, value: value))
        }
        do throws(ValueError) {
            try set(known, to: value)
        } catch {
            tell(error, of: known, in: value)
            settings[known]?.removeLast()
        }
        if !known.isList, let last = settings[known]?.last { settings[known] = [last] }
    }

    /// Reports an error in a value.
    mutating func tell(_ error: ValueError, of key: ConfigurationKey, in value: SourceText) {
        var named = error
        named.message = "\(key.rawValue): \(error.message)"
        if !key.isList, value.hasComment { named.message += "; comments must be on their own lines" }
        diagnostics.report(.error, named, in: value)
        suspects.insert(key)
    }

    private mutating func warnOfRepetition(_ known: ConfigurationKey, _ key: SourceText) {
        // In a drop-in, that is the purpose.
        guard let before = settings[known]?.last?.position, before.file == key.position(at: 0).file else { return }
        diagnostics.report(
            .warning, at: key.position(at: 0), length: key.count,
            "\(known.rawValue)= is set again; line \(before.line + 1) has no effect")
    }

    /// Sets a value, or its default for an empty text.
    mutating func set<Value>(
        _ path: WritableKeyPath<AppConfiguration, Value>, _ text: SourceText,
        _ read: @autoclosure () throws(ValueError) -> Value
    ) throws(ValueError) {
        draft[keyPath: path] = text.isEmpty ? defaults[keyPath: path] : try read()
    }

    /// Warns about backslashes in a word that start no escape sequence.
    mutating func warnOfEscapes(in word: Word, of text: SourceText) {
        for offset in word.unknownEscapes {
            // A scalar has at most four bytes.
            let next = text[(offset + 1)..<min(text.count, offset + 5)].string.prefix(1)
            let error = ValueError(
                message:
                    "\\\(next.singleLine()) is not an escape sequence, so the backslash stays; write \\\\ for a backslash",
                offset: offset,
                length: 2)
            diagnostics.report(.warning, error, in: text)
        }
    }
}

extension ConfigurationKey {
    /// Whether further values are appended to earlier ones; an empty one clears the list.
    var isList: Bool {
        switch self {
        case .execStart, .execStartPre, .execReload, .supplementaryGroups, .environment, .environmentFile: true
        default: false
        }
    }
}

extension SourceText {
    fileprivate var hasComment: Bool {
        guard count <= 1024 else { return false }
        let text = string
        return text.contains(" #") || text.contains(" ;")
    }
}
