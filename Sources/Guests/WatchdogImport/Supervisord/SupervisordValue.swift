// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Values that supervisord itself refuses unless they have one of a few forms: each is an error here too.
enum SupervisordValue {
    /// A whole number.
    static func integer(
        _ option: INIFile.Option?, _ standard: Int, in range: ClosedRange<Int>
    ) throws(ImportError) -> Int {
        guard let option else { return standard }
        guard let number = Int(option.value), range.contains(number) else {
            throw ImportError(
                option.place,
                "\(option.shown) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func boolean(_ option: INIFile.Option?, _ standard: Bool) throws(ImportError) -> Bool {
        guard let option else { return standard }
        switch option.value.lowercased() {
        case "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default:
            throw ImportError(
                option.place, "\(option.shown) is neither true nor false, which is what supervisord takes")
        }
    }

    /// The variables of an `environment` option; those of supervisord's own environment are marked.
    static func variables(
        _ option: INIFile.Option, _ expansion: SupervisordExpansion
    ) throws(ImportError) -> SupervisordVariables {
        let value: String
        do throws(SupervisordExpansion.Invalid) {
            value = try expansion.expand(option.value, marksUnknown: true)
        } catch {
            throw ImportError(option.place, "environment: \(error.message)")
        }
        do throws(SupervisordVariables.Invalid) {
            return try SupervisordVariables(value)
        } catch {
            throw ImportError(option.place, "environment: \(error.message)")
        }
    }
}

extension INIFile.Option {
    /// `key=value`, cut for a message.
    var shown: String { Printable.setting(key, value) }

    /// The path; a relative one is resolved in the folder of its file, with a note.
    func absolutePath(_ draft: inout AppDraft) -> String {
        guard !value.hasPrefix("/") else { return value }
        let path = "\(folder)/\(value)"
        draft.note(
            .changed, at: place,
            "\(shown) is relative to where supervisord is started; it became \(path.singleLine())")
        return path
    }
}

/// The settings that programs inherit from `[supervisord]`.
struct SupervisordDaemon {
    let place: ImportPlace
    let environment: INIFile.Option?
    let variables: [(name: String, value: String)]
    let user: INIFile.Option?
    let directory: INIFile.Option?
    let umask: INIFile.Option?
    private(set) var notes: [ImportNote] = []

    init(_ section: INIFile.Section, _ expansion: SupervisordExpansion) throws(ImportError) {
        place = section.place
        environment = section.option("environment")
        if let environment {
            let read = try SupervisordValue.variables(environment, expansion)
            variables = read.variables
            if let note = environment.note(of: read) { notes.append(note) }
        } else {
            variables = []
        }
        func expanded(_ key: String) -> INIFile.Option? {
            guard var option = section.option(key) else { return nil }
            option.value = (try? expansion.expand(option.value)) ?? option.value
            return option
        }
        user = expanded("user")
        directory = expanded("directory")
        umask = expanded("umask")
        for option in section.options where !["environment", "user", "directory", "umask"].contains(option.key) {
            let reason = Self.reasons[option.key] ?? "is about supervisord itself"
            notes.append(ImportNote(kind: .dropped, place: option.place, message: "\(option.shown) \(reason)"))
        }
    }

    private static let reasons = [
        "minfds": "is about supervisord itself; for its programs, set LimitNOFILE=",
        "minprocs": "is about supervisord itself; for its programs, set LimitNPROC=",
    ]
}

extension INIFile.Option {
    /// A note if supervisord parses its variables differently from their apparent meaning; otherwise nil.
    func note(of read: SupervisordVariables) -> ImportNote? {
        if read.isRefused {
            let message = "\(key): supervisord refuses such a value without quotes; it became all up to the comma"
            return ImportNote(kind: .changed, place: place, message: message)
        }
        guard let first = read.ignored.first else { return nil }
        let message =
            "\(key): supervisord reads over \(Printable.quoted(first)), and so does this; put the value in quotes"
        return ImportNote(kind: .dropped, place: place, message: message)
    }
}
