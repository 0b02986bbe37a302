// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// An app file under construction, which contains only values that the shipped parser accepts.
struct AppDraft {
    let name: AppName
    private let origin: String
    private let specifiers: Specifiers
    private var values: [ConfigurationKey: [String]] = [:]
    /// Comments above the settings, without the `#`.
    private var comments: [String] = []
    private var toDo: [String] = []
    private(set) var notes: [ImportNote] = []

    /// Creates an app without settings.
    ///
    /// - Parameter origin: the path of its source file.
    init(name: AppName, origin: String, specifiers: Specifiers) {
        self.name = name
        self.origin = origin
        self.specifiers = specifiers
    }

    // MARK: - Values

    func has(_ key: ConfigurationKey) -> Bool { values[key] != nil }

    /// Sets a value, or adds a line if the key is a list.
    ///
    /// - Returns: the parser's error; nil if the value was set.
    mutating func put(_ key: ConfigurationKey, _ value: String) -> String? {
        if let fault = fault(of: key, value) { return fault }
        if Self.lists.contains(key) { values[key, default: []].append(value) } else { values[key] = [value] }
        return nil
    }

    /// Sets a value like ``put(_:_:)``; notes a rejected value as dropped, or a rejected user as something to do.
    ///
    /// - Parameter source: the text of the line, such as `Nice=5`.
    /// - Returns: whether it was set.
    @discardableResult
    mutating func carry(
        _ key: ConfigurationKey, _ value: String, of source: String, at place: ImportPlace
    ) -> Bool {
        guard let fault = put(key, value) else { return true }
        // An app without a user would run as watchdogd's user, which is usually root.
        if key == .user {
            note(.toDo, at: place, "\(source): \(fault); set User=")
        } else {
            note(.dropped, at: place, "\(source): \(fault)")
        }
        return false
    }

    /// Sets a value that is valid by construction.
    mutating func set(_ key: ConfigurationKey, _ value: String) {
        let fault = put(key, value)
        precondition(fault == nil, "\(key.rawValue)=\(value): \(fault ?? "")")
    }

    /// Removes a setting and returns its values.
    mutating func remove(_ key: ConfigurationKey) -> [String] { values.removeValue(forKey: key) ?? [] }

    private static let lists: Set<ConfigurationKey> = [.execStartPre, .execReload, .environment, .environmentFile]

    private func fault(of key: ConfigurationKey, _ value: String) -> String? {
        guard !value.isEmpty else { return "the value is empty" }
        guard !value.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f }) else {
            return "the value has a line break or another control character"
        }
        var text = key == .execStart ? "" : "[App]\nExecStart=/bin/true\n"
        // The other settings of a probe require a Probe=.
        if key.section == .watchdog, key != .probe { text += "[Watchdog]\nProbe=http://localhost/\n" }
        text += "[\(key.section.rawValue)]\n"
        // The parser compares Delay= with MaxDelay=, which is not known yet.
        if key == .delay { text += "MaxDelay=1000d\n" }
        if key == .maxDelay { text += "Delay=1us\n" }
        text += "\(key.rawValue)=\(value)\n"
        let errors = definition(of: text).diagnostics.filter { $0.severity == .error }
        guard let error = errors.first else { return nil }
        let prefix = "\(key.rawValue): "
        return error.message.hasPrefix(prefix) ? String(error.message.dropFirst(prefix.count)) : error.message
    }

    // MARK: - Notes

    mutating func note(_ kind: ImportNote.Kind, at place: ImportPlace, _ message: String) {
        notes.append(ImportNote(kind: kind, place: place, message: message))
        if kind == .toDo { toDo.append(message) }
    }

    /// Adds a comment to the head of the file.
    mutating func comment(_ text: String) { comments.append(text.singleLine(limit: 4_096)) }

    // MARK: - The file

    /// The app file.
    ///
    /// - Throws: ``ImportError`` if the file is invalid, although each of its settings is valid.
    func finished() throws(ImportError) -> ImportedApp {
        let text = text
        let definition = definition(of: text)
        guard definition.configuration != nil else {
            let reason = definition.diagnostics.first { $0.severity == .error }?.description ?? "it is invalid"
            throw ImportError(ImportPlace(file: origin), "the app file made from it is invalid: \(reason)")
        }
        return ImportedApp(name: name, text: text, definition: definition)
    }

    private func definition(of text: String) -> AppDefinition {
        // Check an instance: in a template, `User=%i` has no value.
        let name = name.isTemplate ? (try? AppName("\(name)1")) ?? name : name
        let file = ConfigurationFile(path: self.name.description + AppName.fileSuffix, text: text)
        return AppDefinition(name: name, files: [file], specifiers: specifiers)
    }

    private var text: String {
        var lines = ["# \(name)\(AppName.fileSuffix), imported from \(origin.singleLine(limit: 4_096))."]
        lines += comments.map { "# \($0)" }
        if !toDo.isEmpty {
            lines += ["#", "# To do before it is launched:"] + toDo.map { "# - \($0.singleLine(limit: 4_096))" }
        }
        var values = values
        if !toDo.isEmpty { values[.enabled] = ["no"] }
        for section in ConfigurationSection.allCases {
            let keys = Self.order.filter { $0.section == section && values[$0] != nil }
            guard !keys.isEmpty else { continue }
            lines += ["", "[\(section.rawValue)]"]
            for key in keys { lines += (values[key] ?? []).map { "\(key.rawValue)=\($0)" } }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let order: [ConfigurationKey] =
        [.description] + ConfigurationKey.allCases.filter { $0 != .description }
}
