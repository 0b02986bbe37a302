// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Makes apps of supervisord's `[program:NAME]` sections: supervisord.org, "Configuration File".
struct SupervisordImport {
    private let file: ConfigurationFile
    private let specifiers: Specifiers
    /// The folder of the file: `%(here)s`.
    private let folder: String
    /// Variables of `[supervisord]`, which every program gets.
    private var shared: INIFile.Option?
    private var result = ImportResult()

    static func result(
        file: ConfigurationFile, folder: String, specifiers: Specifiers
    ) throws(ImportError) -> ImportResult {
        var reading = SupervisordImport(file: file, folder: folder, specifiers: specifiers)
        return try reading.read()
    }

    private init(file: ConfigurationFile, folder: String, specifiers: Specifiers) {
        self.file = file
        self.specifiers = specifiers
        self.folder = folder
    }

    private mutating func read() throws(ImportError) -> ImportResult {
        let sections = try INIFile(file).sections
        let daemon = sections.first { $0.name == "supervisord" }
        shared = daemon?.options.first { $0.key == "environment" }
        for section in sections {
            if let name = section.name.dropping("program:") {
                try importProgram(section, String(name.trimmed))
            } else if let reason = Self.reason(section.name) {
                note(reason.kind, section.place, "[\(Printable.text(section.name, limit: 60))] \(reason.text)")
            }
        }
        return result
    }

    private static func reason(_ name: String) -> (kind: ImportNote.Kind, text: String)? {
        switch name.prefix(while: { $0 != ":" }) {
        case "supervisord", "unix_http_server", "inet_http_server", "supervisorctl", "rpcinterface":
            (.dropped, "is about supervisord itself")
        case "include": (.skipped, "names more files; give them to this command too")
        case "group": (.dropped, "groups programs, and apps have no groups")
        case "eventlistener": (.skipped, "speaks supervisord's event protocol; see 'watchdogd events'")
        case "fcgi-program": (.skipped, "gets its socket from supervisord, and an app gets no descriptors")
        default: (.skipped, "is not a section of supervisord")
        }
    }

    private mutating func note(_ kind: ImportNote.Kind, _ place: ImportPlace, _ message: String) {
        result.notes.append(ImportNote(kind: kind, place: place, message: message))
    }

    // MARK: - A program

    private mutating func importProgram(_ section: INIFile.Section, _ name: String) throws(ImportError) {
        let numbers = try number(section, "numprocs", 1, in: 1...100)
        let first = try number(section, "numprocs_start", 0, in: 0...100_000)
        let pattern = section.options.last { $0.key == "process_name" }
        var notes: [ImportNote] = []
        for index in 0..<numbers {
            var expansion = SupervisordExpansion(values: [
                "program_name": name, "group_name": name, "here": folder, "numprocs": String(numbers),
                "process_num": String(first + index),
            ])
            if let host = specifiers.hostName { expansion.values["host_node_name"] = host }
            var process = name
            if numbers > 1 || pattern != nil {
                let pattern = pattern?.value ?? "%(program_name)s_%(process_num)02d"
                process = try expanded(pattern, expansion, section.place)
            }
            guard let appName = try? AppName(process) else {
                throw ImportError(
                    section.place,
                    "\(Printable.quoted(process)) cannot be an app's name; use letters, digits, \"-\", \"_\" and \".\"")
            }
            var draft = AppDraft(name: appName, origin: file.path, specifiers: specifiers)
            var program = SupervisordProgram(section, expansion, folder: folder, shared: shared)
            try program.put(into: &draft)
            result.apps.append(try draft.finished())
            // All instances have the same notes.
            if index == 0 { notes = draft.notes }
        }
        if numbers > 1 {
            note(
                .changed, section.place,
                "[\(Printable.text(section.name))] became \(numbers) apps, one for each process")
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

    private func number(
        _ section: INIFile.Section, _ key: String, _ standard: Int, in range: ClosedRange<Int>
    ) throws(ImportError) -> Int {
        guard let option = section.options.last(where: { $0.key == key }) else { return standard }
        guard let number = Int(option.value), range.contains(number) else {
            throw ImportError(
                option.place,
                "\(Printable.setting(key, option.value)) is not a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}

extension StringProtocol {
    /// What follows a prefix; nil without it.
    func dropping(_ prefix: String) -> SubSequence? {
        hasPrefix(prefix) ? self[index(startIndex, offsetBy: prefix.count)...] : nil
    }
}
