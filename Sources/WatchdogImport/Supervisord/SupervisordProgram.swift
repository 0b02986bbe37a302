// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The settings of one `[program:NAME]` section.
struct SupervisordProgram {
    private let section: INIFile.Section
    private let expansion: SupervisordExpansion
    private let folder: String
    private let shared: INIFile.Option?
    private var options: [String: INIFile.Option] = [:]

    init(_ section: INIFile.Section, _ expansion: SupervisordExpansion, folder: String, shared: INIFile.Option?) {
        self.section = section
        self.expansion = expansion
        self.folder = folder
        self.shared = shared
    }

    /// Puts everything into an app.
    ///
    /// - Throws: ``ImportError`` for a command that cannot be one, or a value that supervisord would refuse too.
    mutating func put(into draft: inout AppDraft) throws(ImportError) {
        for option in section.options {
            var expanded = option
            do throws(SupervisordExpansion.Invalid) {
                expanded.value = try expansion.expand(option.value)
            } catch {
                // The command itself must be known.
                guard option.key != "command" else { throw ImportError(option.place, "command: \(error.message)") }
                draft.note(.dropped, at: option.place, "\(Self.shown(option)): \(error.message)")
                continue
            }
            options[option.key] = expanded
        }
        for key in ["numprocs", "numprocs_start", "process_name"] { _ = take(key) }
        try putCommand(&draft)
        try putEnvironment(&draft)
        putProcess(&draft)
        putOutputs(&draft)
        putRestart(&draft)
        for option in options.values.sorted(by: { ($0.place.line ?? 0) < ($1.place.line ?? 0) }) {
            draft.note(.dropped, at: option.place, "\(Self.shown(option)) \(Self.reason(option.key))")
        }
    }

    private static func shown(_ option: INIFile.Option) -> String { Printable.setting(option.key, option.value) }

    private mutating func take(_ key: String) -> INIFile.Option? { options.removeValue(forKey: key) }

    private static func reason(_ key: String) -> String {
        switch key {
        case "priority": "has no counterpart: apps are launched at once"
        case "serverurl": "has no counterpart: there is no supervisord to call"
        case _ where key.hasSuffix("_maxbytes"), _ where key.hasSuffix("_backups"):
            "has no counterpart: the journal or logrotate(8) limits what is kept"
        case _ where key.hasSuffix("_events_enabled"), _ where key.hasSuffix("_syslog"):
            "has no counterpart: output goes to one place"
        default: "is not a setting of supervisord's programs"
        }
    }

    // MARK: - What runs

    private mutating func putCommand(_ draft: inout AppDraft) throws(ImportError) {
        guard let command = take("command"), !command.value.isEmpty else {
            throw ImportError(section.place, "[\(Printable.text(section.name, limit: 60))] has no command=")
        }
        let words: [String]
        do throws(ShellWords.Invalid) {
            words = try ShellWords.split(command.value)
        } catch {
            throw ImportError(command.place, "command: \(error.message)")
        }
        if let fault = draft.put(.execStart, UnitText.command(words)) {
            throw ImportError(command.place, "command: \(fault)")
        }
    }

    private mutating func putEnvironment(_ draft: inout AppDraft) throws(ImportError) {
        var inherited = shared
        if let value = inherited?.value, let expanded = try? expansion.expand(value) { inherited?.value = expanded }
        for option in [inherited, take("environment")].compactMap(\.self) {
            for (name, value) in try Self.variables(option) {
                draft.carry(.environment, UnitText.variable(name, value), of: Self.shown(option), at: option.place)
            }
        }
    }

    /// `KEY="val",KEY2=val2`, in which quotes protect commas and blanks.
    static func variables(_ option: INIFile.Option) throws(ImportError) -> [(name: String, value: String)] {
        var variables: [(String, String)] = []
        var rest = option.value[...].trimmed
        func invalid(_ message: String) -> ImportError {
            ImportError(option.place, "environment: \(message); write KEY=\"value\",KEY2=\"value\"")
        }
        while !rest.isEmpty {
            guard let equals = rest.firstIndex(of: "=") else {
                throw invalid("\(Printable.quoted(rest)) has no \"=\"")
            }
            let name = String(rest[..<equals].trimmed)
            rest = rest[rest.index(after: equals)...].trimmed
            var value = ""
            if let quote = rest.first, quote == "\"" || quote == "'" {
                rest = rest.dropFirst()
                guard let close = rest.firstIndex(of: quote) else {
                    throw invalid("the quote of \(Printable.text(name, limit: 40)) is never closed")
                }
                value = String(rest[..<close])
                rest = rest[rest.index(after: close)...].trimmed
            } else {
                value = String(rest.prefix { $0 != "," }.trimmed)
                rest = rest.drop { $0 != "," }
            }
            variables.append((name, value))
            guard let comma = rest.first else { break }
            guard comma == "," else { throw invalid("a comma is missing after \(Printable.text(name, limit: 40))") }
            rest = rest.dropFirst().trimmed
        }
        return variables
    }

    private mutating func putProcess(_ draft: inout AppDraft) {
        if let directory = take("directory") {
            let path = directory.value.hasPrefix("/") ? directory.value : "\(folder)/\(directory.value)"
            draft.carry(
                .workingDirectory, UnitText.escapedSpecifiers(path), of: Self.shown(directory), at: directory.place)
        }
        if let user = take("user") { draft.carry(.user, user.value, of: Self.shown(user), at: user.place) }
        if let mask = take("umask") { draft.carry(.umask, mask.value, of: Self.shown(mask), at: mask.place) }
        if let start = take("autostart"), Self.isOff(start.value) { draft.set(.enabled, "no") }
    }

    private static func isOff(_ value: String) -> Bool { ["false", "no", "off", "0"].contains(value.lowercased()) }
    private static func isOn(_ value: String) -> Bool { ["true", "yes", "on", "1"].contains(value.lowercased()) }

    // MARK: - Output

    private mutating func putOutputs(_ draft: inout AppDraft) {
        let isJoined = take("redirect_stderr").map { Self.isOn($0.value) } ?? false
        let output = take("stdout_logfile")
        if let output { putOutput(.standardOutput, output, &draft) }
        if let errors = take("stderr_logfile") {
            if isJoined {
                draft.note(.dropped, at: errors.place, "\(Self.shown(errors)) has no effect with redirect_stderr")
            } else {
                putOutput(.standardError, errors, &draft)
            }
        } else if !isJoined, draft.has(.standardOutput) {
            // It would go where standard output goes.
            draft.set(.standardError, "journal")
        }
    }

    private func putOutput(_ key: ConfigurationKey, _ option: INIFile.Option, _ draft: inout AppDraft) {
        switch option.value {
        case "AUTO", "syslog", "": draft.set(key, "journal")
        case "NONE", "off", "none": draft.set(key, "null")
        case "/dev/stdout", "/dev/fd/1", "/dev/stderr", "/dev/fd/2":
            draft.set(key, "inherit")
        default:
            let path = option.value.hasPrefix("/") ? option.value : "\(folder)/\(option.value)"
            draft.carry(key, "append:" + UnitText.escapedSpecifiers(path), of: Self.shown(option), at: option.place)
        }
    }

    // MARK: - Restarts

    private mutating func putRestart(_ draft: inout AppDraft) {
        // The defaults are supervisord's.
        let restart = take("autorestart")
        let codes = take("exitcodes")
        switch restart?.value.lowercased() ?? "unexpected" {
        case "unexpected":
            draft.set(.policy, "on-failure")
            if let restart {
                draft.note(.changed, at: restart.place, "autorestart=unexpected became Policy=on-failure")
            }
            if let codes, codes.value.filter({ $0 != " " }) != "0" {
                draft.note(
                    .dropped, at: codes.place,
                    "\(Self.shown(codes)) has no counterpart: every exit code but 0 is a failure")
            }
        case let value where Self.isOn(value): draft.set(.policy, "always")
        case let value where Self.isOff(value): draft.set(.policy, "never")
        default:
            draft.set(.policy, "on-failure")
            if let restart {
                draft.note(.changed, at: restart.place, "\(Self.shown(restart)) is not a policy; it became on-failure")
            }
        }
        let wait = take("stopwaitsecs")
        draft.carry(
            .terminate, "\(wait?.value ?? "10")s", of: wait.map(Self.shown) ?? "stopwaitsecs=10",
            at: wait?.place ?? section.place)
        if let seconds = take("startsecs"), !["0", "1", "2"].contains(seconds.value) {
            draft.note(
                .dropped, at: seconds.place,
                "\(Self.shown(seconds)): with Readiness=auto, an app that reports nothing is ready after two seconds")
        }
        putRetries(&draft)
        if let signal = take("stopsignal"), !["TERM", "SIGTERM", "15"].contains(signal.value) {
            draft.note(.dropped, at: signal.place, "\(Self.shown(signal)) has no counterpart: an app ends at SIGTERM")
        }
        // In the end, watchdogd kills all processes of an app.
        _ = take("killasgroup")
        if let group = take("stopasgroup"), Self.isOn(group.value) {
            draft.note(
                .dropped, at: group.place,
                "\(Self.shown(group)): SIGTERM goes to the main process first, to the others once it is gone")
        }
    }

    private mutating func putRetries(_ draft: inout AppDraft) {
        guard let retries = take("startretries") else { return }
        guard let count = Int(retries.value), count > 0 else {
            return draft.note(.dropped, at: retries.place, "\(Self.shown(retries)): at least one restart is allowed")
        }
        guard draft.carry(.limitLaunch, String(count), of: Self.shown(retries), at: retries.place) else { return }
        // Only failed starts end in supervisord's FATAL.
        draft.set(.limit, "infinity")
        draft.set(.atLimit, "stop")
        draft.note(.changed, at: retries.place, "\(Self.shown(retries)) became LimitLaunch=\(count) and AtLimit=stop")
    }
}
