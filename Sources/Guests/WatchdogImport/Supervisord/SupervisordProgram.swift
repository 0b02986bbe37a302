// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// The settings of one `[program:NAME]` section.
struct SupervisordProgram {
    private let section: INIFile.Section
    private var expansion: SupervisordExpansion
    private let daemon: SupervisordDaemon?
    private var options: [String: INIFile.Option] = [:]
    /// The variables, with the options that set them.
    private var variables: [(name: String, value: String, option: INIFile.Option)] = []
    private var notes: [ImportNote] = []

    /// The options of programs: supervisord.org, "[program:x] Section Settings".
    static let keys: Set<String> = [
        "command", "process_name", "numprocs", "numprocs_start", "priority", "autostart", "startsecs", "startretries",
        "autorestart", "exitcodes", "stopsignal", "stopwaitsecs", "stopasgroup", "killasgroup", "user",
        "redirect_stderr", "stdout_logfile", "stdout_logfile_maxbytes", "stdout_logfile_backups",
        "stdout_capture_maxbytes", "stdout_events_enabled", "stdout_syslog", "stderr_logfile",
        "stderr_logfile_maxbytes", "stderr_logfile_backups", "stderr_capture_maxbytes", "stderr_events_enabled",
        "stderr_syslog", "environment", "directory", "umask", "serverurl",
    ]

    init(_ section: INIFile.Section, _ expansion: SupervisordExpansion, _ daemon: SupervisordDaemon?) {
        self.section = section
        self.expansion = expansion
        self.daemon = daemon
    }

    /// Reads the variables of the program, which other values can use as `%(ENV_NAME)s`.
    ///
    /// - Throws: ``ImportError`` for a value that supervisord would reject, too.
    mutating func takeEnvironment() throws(ImportError) -> [(name: String, value: String)] {
        let inherited = daemon?.environment
        for (name, value) in daemon?.variables ?? [] {
            if let inherited { variables.append((name, value, inherited)) }
        }
        if let option = section.option("environment") {
            expansion.values["here"] = option.folder
            let read = try SupervisordValue.variables(option, expansion)
            if let note = option.note(of: read) { notes.append(note) }
            for (name, value) in read.variables {
                variables.removeAll { $0.name == name }
                variables.append((name, value, option))
            }
        }
        let known = variables.filter { !$0.value.contains(SupervisordExpansion.unknown) }
        for (name, value, _) in known { expansion.values["ENV_\(name)"] = value }
        return known.map { ($0.name, $0.value) }
    }

    /// Converts all settings.
    ///
    /// - Throws: ``ImportError`` for an invalid command, or a value that supervisord would reject, too.
    mutating func put(into draft: inout AppDraft) throws(ImportError) {
        for note in notes { draft.note(note.kind, at: note.place, note.message) }
        for option in section.options {
            var expanded = option
            expansion.values["here"] = option.folder
            do throws(SupervisordExpansion.Invalid) {
                expanded.value = try expansion.expand(option.value)
            } catch {
                switch option.key {
                // Already handled.
                case "environment", "process_name": break
                // Without its command, the app cannot be imported.
                case "command": throw ImportError(option.place, "command: \(error.message)")
                case "user":
                    draft.note(.toDo, at: option.place, "\(option.shown): \(error.message); set User=")
                    continue
                default:
                    draft.note(.dropped, at: option.place, "\(option.shown): \(error.message)")
                    continue
                }
            }
            options[option.key] = expanded
        }
        for key in ["numprocs", "numprocs_start", "process_name", "environment"] { _ = take(key) }
        try putCommand(&draft)
        putEnvironment(&draft)
        try putProcess(&draft)
        try SupervisordOutputs(take: { take($0) }).put(into: &draft)
        try putRestart(&draft)
        for option in options.values.sorted(by: { ($0.place.line ?? 0) < ($1.place.line ?? 0) }) {
            draft.note(.dropped, at: option.place, "\(option.shown) \(Self.reason(option.key))")
        }
    }

    private mutating func take(_ key: String) -> INIFile.Option? { options.removeValue(forKey: key) }

    private static func reason(_ key: String) -> String {
        switch key {
        case "priority": "has no counterpart: apps are launched at once"
        case "serverurl": "has no counterpart: there is no supervisord to call"
        case _ where key.hasSuffix("_maxbytes"), _ where key.hasSuffix("_backups"):
            "has no counterpart: the journal or logrotate(8) limits what is kept"
        case _ where key.hasSuffix("_events_enabled"):
            "has no counterpart: output goes to one place"
        default: "is not a setting of supervisord's programs"
        }
    }

    // MARK: - What runs

    private mutating func putCommand(_ draft: inout AppDraft) throws(ImportError) {
        guard let command = take("command"), !command.value.isEmpty else {
            throw ImportError(section.place, "[\(section.name.singleLine(limit: 60))] has no command=")
        }
        let words: [String]
        do throws(ShellWords.Invalid) {
            words = try ShellWords.split(command.value, .python)
        } catch {
            throw ImportError(command.place, "command: \(error.message)")
        }
        if let fault = draft.put(.execStart, UnitText.command(words)) {
            throw ImportError(command.place, "command: \(fault)")
        }
    }

    private func putEnvironment(_ draft: inout AppDraft) {
        for (name, value, option) in variables {
            let shown = "environment: \(name.singleLine(limit: 40))"
            guard !value.contains(SupervisordExpansion.unknown) else {
                draft.note(
                    .toDo, at: option.place,
                    "\(shown) contains a variable of supervisord's own environment; set Environment= to its whole value"
                )
                continue
            }
            draft.carry(.environment, UnitText.variable(name, value), of: shown, at: option.place)
        }
    }

    private mutating func putProcess(_ draft: inout AppDraft) throws(ImportError) {
        putDirectory(&draft)
        if let user = take("user") {
            draft.carry(.user, user.value, of: user.shown, at: user.place)
        } else if let user = daemon?.user, section.option("user") == nil, user.value != "root" {
            // supervisord itself runs as this user, and its programs inherit that.
            draft.carry(.user, user.value, of: user.shown, at: user.place)
        }
        if let mask = take("umask") ?? daemon?.umask {
            draft.carry(.umask, mask.value, of: mask.shown, at: mask.place)
        }
        if !(try SupervisordValue.boolean(take("autostart"), true)) { draft.set(.enabled, "no") }
    }

    private mutating func putDirectory(_ draft: inout AppDraft) {
        let own = take("directory")
        guard let option = own ?? (section.option("directory") == nil ? daemon?.directory : nil) else { return }
        let path = option.absolutePath(&draft)
        if own == nil, path == option.value {
            draft.note(.changed, at: option.place, "\(option.shown) of [supervisord] became WorkingDirectory=")
        }
        draft.carry(.workingDirectory, UnitText.escapedSpecifiers(path), of: option.shown, at: option.place)
    }

    // MARK: - Restarts

    private mutating func putRestart(_ draft: inout AppDraft) throws(ImportError) {
        // The defaults are supervisord's.
        let restart = take("autorestart")
        let codes = take("exitcodes")
        if restart?.value.lowercased() ?? "unexpected" == "unexpected" {
            draft.set(.policy, "on-failure")
            if let restart {
                draft.note(.changed, at: restart.place, "autorestart=unexpected became Policy=on-failure")
            }
            if let codes, codes.value.filter({ $0 != " " }) != "0" {
                draft.note(
                    .dropped, at: codes.place,
                    "\(codes.shown) has no counterpart: every exit code but 0 is a failure")
            }
        } else {
            draft.set(.policy, try SupervisordValue.boolean(restart, true) ? "always" : "never")
            if let codes {
                draft.note(.dropped, at: codes.place, "\(codes.shown) has no effect without autorestart=unexpected")
            }
        }
        try putStop(&draft)
        if let seconds = take("startsecs"), !["1", "2"].contains(seconds.value) {
            draft.note(
                .dropped, at: seconds.place,
                "\(seconds.shown): with Readiness=auto, an app that reports nothing counts as launched when Launch= ends, "
                    + "after 20 s; only for LimitLaunch= and 'watchdogd launch', two seconds of silence are enough")
        }
        putRetries(&draft)
    }

    private mutating func putStop(_ draft: inout AppDraft) throws(ImportError) {
        let wait = take("stopwaitsecs")
        let seconds = try SupervisordValue.integer(wait, 10, in: 0...1_000_000_000)
        draft.carry(
            .terminate, "\(seconds)s", of: wait?.shown ?? "stopwaitsecs=10", at: wait?.place ?? section.place)
        if let signal = take("stopsignal"), !["TERM", "SIGTERM", "15"].contains(signal.value.uppercased()) {
            draft.note(.dropped, at: signal.place, "\(signal.shown) has no counterpart: an app ends at SIGTERM")
        }
        let stop = take("stopasgroup")
        if try SupervisordValue.boolean(stop, false), let stop {
            draft.note(
                .dropped, at: stop.place,
                "\(stop.shown): SIGTERM goes to the main process first, to the others once it is gone")
        }
        let kill = take("killasgroup")
        if !(try SupervisordValue.boolean(kill, true)), let kill {
            draft.note(.dropped, at: kill.place, "\(kill.shown): in the end, all processes of an app are killed")
        }
    }

    private mutating func putRetries(_ draft: inout AppDraft) {
        guard let retries = take("startretries") else { return }
        guard let count = Int(retries.value), count > 0 else {
            return draft.note(.dropped, at: retries.place, "\(retries.shown): at least one restart is allowed")
        }
        guard draft.carry(.limitLaunch, String(count), of: retries.shown, at: retries.place) else { return }
        // supervisord gives up (FATAL) only after failed starts.
        draft.set(.limit, "infinity")
        draft.set(.atLimit, "stop")
        draft.note(.changed, at: retries.place, "\(retries.shown) became LimitLaunch=\(count) and AtLimit=stop")
    }
}
