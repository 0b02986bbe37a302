// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Converts supervisord's `[program:NAME]` sections to apps: supervisord.org, "Configuration File".
struct SupervisordImport {
    /// A file of the configuration, and its folder.
    struct Source {
        let file: ConfigurationFile
        let folder: String
    }

    private let source: Source
    private let specifiers: Specifiers
    private var ini = INIFile()
    private var daemon: SupervisordDaemon?
    /// The groups of programs, by program.
    private var groups: [String: String] = [:]
    private var result = ImportResult()

    /// Imports a file.
    ///
    /// - Parameter matching: finds the files for a pattern of `[include]`, an absolute path with wildcards.
    static func result(
        source: Source, specifiers: Specifiers, matching: (String) throws(ImportError) -> [Source]
    ) throws(ImportError) -> ImportResult {
        var reading = SupervisordImport(source: source, specifiers: specifiers)
        return try reading.read(matching)
    }

    private init(source: Source, specifiers: Specifiers) {
        self.source = source
        self.specifiers = specifiers
    }

    private mutating func read(
        _ matching: (String) throws(ImportError) -> [Source]
    ) throws(ImportError) -> ImportResult {
        try ini.read(source.file, folder: source.folder)
        if let include = ini.sections.first(where: { $0.name == "include" }) { try readIncluded(include, matching) }
        result.notes += ini.notes
        let sections = ini.sections.map(ini.complete)
        if let section = sections.first(where: { $0.name == "supervisord" }) {
            daemon = try SupervisordDaemon(section, expansion(of: section))
        }
        for section in sections where section.name.hasPrefix("group:") { importGroup(section) }
        for section in sections {
            if let name = section.name.dropping("program:") {
                try importProgram(section, String(name.trimmed))
            } else if section.name == "supervisord" {
                result.notes += daemon?.notes ?? []
            } else if let reason = Self.reason(section.name) {
                note(reason.kind, section.place, "[\(section.name.singleLine(limit: 60))] \(reason.text)")
            }
        }
        return result
    }

    private static func reason(_ name: String) -> (kind: ImportNote.Kind, text: String)? {
        switch name.prefix(while: { $0 != ":" }) {
        case "unix_http_server", "inet_http_server", "supervisorctl", "rpcinterface", "ctlplugin":
            (.dropped, "is about supervisord itself")
        case "group": (.dropped, "groups programs, and apps have no groups")
        case "include": nil
        case "eventlistener": (.skipped, "speaks supervisord's event protocol; see 'watchdogd events'")
        case "fcgi-program": (.skipped, "gets its socket from supervisord, and an app gets no descriptors")
        default: (.skipped, "is not a section of supervisord")
        }
    }

    private mutating func note(_ kind: ImportNote.Kind, _ place: ImportPlace, _ message: String) {
        result.notes.append(ImportNote(kind: kind, place: place, message: message))
    }

    private mutating func importGroup(_ section: INIFile.Section) {
        let group = String(section.name.dropFirst("group:".count).trimmed)
        for program in (section.option("programs")?.value ?? "").split(separator: ",").map(\.trimmed) {
            if groups[String(program)] == nil { groups[String(program)] = group }
        }
    }

    /// The expansions that are valid in every value of a section.
    private func expansion(of section: INIFile.Section) -> SupervisordExpansion {
        var expansion = SupervisordExpansion(values: ["here": source.folder])
        if let host = specifiers.hostName { expansion.values["host_node_name"] = host }
        for (name, value) in daemon?.variables ?? [] { expansion.values["ENV_\(name)"] = value }
        return expansion
    }

    // MARK: - Included files

    /// The maximum number of included files.
    private static let maximumCount = 1_000

    private mutating func readIncluded(
        _ include: INIFile.Section, _ matching: (String) throws(ImportError) -> [Source]
    ) throws(ImportError) {
        guard let files = include.option("files") else {
            throw ImportError(include.place, "[include] names no files; write files = conf.d/*.conf")
        }
        let patterns = try expanded(files.value, expansion(of: include), files.place)
        var count = 0
        for pattern in patterns.split(whereSeparator: \.isWhitespace) {
            let path = pattern.hasPrefix("/") ? String(pattern) : "\(source.folder)/\(pattern)"
            let sources = try matching(path)
            if sources.isEmpty {
                note(.skipped, files.place, "files: no file matches \(Printable.quoted(pattern))")
            }
            for source in sources {
                count += 1
                guard count <= Self.maximumCount else {
                    throw ImportError(files.place, "[include] names more than 1,000 files")
                }
                try ini.read(source.file, folder: source.folder)
            }
        }
        for option in include.options where option.key != "files" {
            note(.dropped, option.place, "\(Printable.setting(option.key, option.value)) is not a setting of [include]")
        }
    }

    // MARK: - A program

    private mutating func importProgram(_ section: INIFile.Section, _ name: String) throws(ImportError) {
        let numbers = try SupervisordValue.integer(section.option("numprocs"), 1, in: 1...100)
        let first = try SupervisordValue.integer(section.option("numprocs_start"), 0, in: 0...100_000)
        let pattern = section.option("process_name")
        if numbers > 1, pattern?.value.contains("%(process_num)") != true {
            throw ImportError(
                pattern?.place ?? section.place,
                "numprocs=\(numbers) gives all processes one name; write process_name=%(program_name)s_%(process_num)02d"
            )
        }
        var notes: [ImportNote] = []
        for index in 0..<numbers {
            var expansion = expansion(of: section)
            expansion.values.merge([
                "program_name": name, "group_name": groups[name] ?? name, "numprocs": String(numbers),
                "process_num": String(first + index),
            ]) { $1 }
            var program = SupervisordProgram(section, expansion, daemon)
            let environment = try program.takeEnvironment()
            var process = name
            if let pattern {
                var all = expansion
                for (name, value) in environment { all.values["ENV_\(name)"] = value }
                process = try expanded(pattern.value, all, pattern.place)
            }
            guard let appName = try? AppName(process) else {
                throw ImportError(
                    section.place,
                    "\(Printable.quoted(process)) cannot be an app's name; use letters, digits, \"-\", \"_\" and \".\"")
            }
            guard !result.apps.contains(where: { $0.name == appName }) else {
                throw ImportError(
                    section.place, "there is already an app \(appName); give each process another process_name=")
            }
            var draft = AppDraft(name: appName, origin: source.file.path, specifiers: specifiers)
            try program.put(into: &draft)
            result.apps.append(try draft.finished())
            // All instances have the same notes.
            if index == 0 { notes = draft.notes }
        }
        if numbers > 1 {
            note(
                .changed, section.place,
                "[\(section.name.singleLine())] became \(numbers) apps, one for each process")
        }
        result.notes += notes
    }

    private func expanded(
        _ text: String, _ expansion: SupervisordExpansion, _ place: ImportPlace
    ) throws(ImportError) -> String {
        do throws(SupervisordExpansion.Invalid) {
            return try expansion.expand(text)
        } catch {
            throw ImportError(place, error.message)
        }
    }
}

extension StringProtocol {
    /// The text after a prefix; nil without the prefix.
    func dropping(_ prefix: String) -> SubSequence? {
        hasPrefix(prefix) ? self[index(startIndex, offsetBy: prefix.count)...] : nil
    }
}
