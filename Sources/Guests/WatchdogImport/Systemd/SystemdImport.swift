// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Converts a service unit and its drop-ins to an app: systemd.service(5), systemd.exec(5).
struct SystemdImport {
    private var unit: SystemdUnit
    private var draft: AppDraft
    private let whole: ImportPlace
    private let isOfUser: Bool
    private let specifiers: SystemdSpecifiers
    /// The first place of each reason for a missing feature.
    private var reasons: [String: ImportPlace] = [:]

    /// Imports a unit.
    ///
    /// - Parameters:
    ///   - unit: the complete name of the unit.
    ///   - files: the unit, then its drop-ins in the order in which they apply.
    static func result(
        name: AppName, unit: String, files: [ConfigurationFile], specifiers: Specifiers
    ) throws(ImportError) -> ImportResult {
        var reading = try SystemdImport(name, unit, files, specifiers)
        return try reading.read()
    }

    private init(
        _ name: AppName, _ unit: String, _ files: [ConfigurationFile], _ specifiers: Specifiers
    ) throws(ImportError) {
        self.unit = try SystemdUnit(files)
        whole = ImportPlace(file: files[0].path)
        isOfUser = files[0].path.contains("/systemd/user/")
        let stem = unit.hasSuffix(".service") ? String(unit.dropLast(".service".count)) : unit
        self.specifiers = SystemdSpecifiers(isOfUser: isOfUser, name: stem, app: name)
        draft = AppDraft(name: name, origin: files[0].path, specifiers: specifiers)
    }

    private mutating func read() throws(ImportError) -> ImportResult {
        var result = ImportResult()
        let type = unit.take("Type")
        // With BusName=, the default type is dbus.
        let assumed = unit.value("BusName") == nil ? "simple" : "dbus"
        if type?.value == "oneshot" {
            let message = "Type=oneshot: a program that runs once and ends is not an app; leave it to systemd"
            result.notes = [ImportNote(kind: .skipped, place: type?.place ?? whole, message: message)]
            return result
        }
        for setting in unit.takeAll("Documentation") { draft.comment("See \(setting.value)") }
        importIdentity()
        // systemd creates the directories before it runs any command.
        importDirectories()
        try importCommands(isForking: type?.value == "forking")
        importType(type)
        importTimes(type: type?.value ?? assumed)
        importRestart()
        importOutputs()
        importInstall()
        for setting in unit.settings { importRest(setting) }
        result.apps = [try draft.finished()]
        result.notes = unit.strays + draft.notes
        return result
    }

    // MARK: - Commands

    private mutating func importCommands(isForking: Bool) throws(ImportError) {
        let commands = unit.takeAll("ExecStart")
        guard let start = commands.first else {
            throw ImportError(whole, "there is no ExecStart= in [Service], so there is no program to run")
        }
        guard commands.count == 1 else {
            throw ImportError(commands[1].place, "a second ExecStart=: only Type=oneshot can have several commands")
        }
        let command = stripped(start)
        if let fault = draft.put(.execStart, command) { throw ImportError(start.place, "ExecStart: \(fault)") }
        for (key, known) in [("ExecStartPre", ConfigurationKey.execStartPre), ("ExecReload", .execReload)] {
            for setting in unit.takeAll(key) {
                draft.carry(known, stripped(setting), of: setting.shown, at: setting.place)
            }
        }
        guard isForking else { return }
        let program = command.drop { "-@:".contains($0) }.prefix { $0 != " " && $0 != "\t" }
        let hint = ForegroundHint.option(of: program).map { " (\(program.split(separator: "/").last ?? ""): \($0))" }
        draft.note(
            .toDo, at: start.place,
            "Type=forking: change ExecStart= so that the program stays in the foreground\(hint ?? "")")
    }

    /// The command without the prefixes that watchdogd lacks.
    private mutating func stripped(_ setting: SystemdUnit.Setting) -> String {
        let value = translated(setting)
        let prefix = value.prefix { "-@:+!|".contains($0) }
        // Keep the prefix of a shell command, so that the parser rejects it.
        guard !prefix.contains("|") else { return value }
        let lacking = setting.key == "ExecStart" ? "!+" : "!"
        let dropped = prefix.filter { lacking.contains($0) }
        guard !dropped.isEmpty else { return value }
        let effect = dropped.contains("+") ? ": the program runs as User=" : ""
        draft.note(
            .changed, at: setting.place, "\(setting.key)= lost its prefix \(dropped), which watchdogd lacks\(effect)")
        return prefix.filter { !lacking.contains($0) } + value.dropFirst(prefix.count)
    }

    private func translated(_ setting: SystemdUnit.Setting) -> String {
        specifiers.translated(setting.value)
    }

    // MARK: - Readiness and times

    private mutating func importType(_ type: SystemdUnit.Setting?) {
        if type?.value != "notify-reload", let signal = unit.take("ReloadSignal") {
            draft.note(.dropped, at: signal.place, "\(signal.shown) has no effect without Type=notify-reload")
        }
        guard let type else { return }
        switch type.value {
        case "simple", "forking": break
        case "exec": draft.set(.readiness, "none")
        case "notify": draft.set(.readiness, "notify")
        case "notify-reload":
            draft.set(.readiness, "notify")
            let signal = unit.take("ReloadSignal")?.value ?? "SIGHUP"
            // systemd sends the signal before it runs the commands.
            let commands = draft.remove(.execReload)
            draft.carry(.execReload, "/bin/kill -s \(signal.dropSIG) $MAINPID", of: type.shown, at: type.place)
            for command in commands { draft.set(.execReload, command) }
            draft.note(
                .changed, at: type.place, "Type=notify-reload became Readiness=notify and an ExecReload= with kill")
        default:
            draft.note(
                .changed, at: type.place,
                "\(type.shown) became Readiness=auto: ready when the app says so; if it says nothing, launched when Launch= ends"
            )
        }
    }

    private mutating func importTimes(type: String) {
        let both = unit.take("TimeoutSec")
        // TimeoutSec= sets both, and the last line wins.
        let start = [unit.take("TimeoutStartSec"), both].compactMap(\.self).max { $0.order < $1.order }
        let stop = [unit.take("TimeoutStopSec"), both].compactMap(\.self).max { $0.order < $1.order }
        var assumed: [String] = []
        // A simple service counts as started once it runs, so the timeout applies only to its preparations.
        let waits = ["notify", "notify-reload", "dbus", "forking"].contains(type)
        if let start, type != "exec" { importAllowance(.launch, start) }
        if start == nil, waits {
            draft.set(.launch, Self.standardTimeout)
            assumed.append("Launch=")
        }
        if let stop {
            importAllowance(.terminate, stop)
        } else {
            draft.set(.terminate, Self.standardTimeout)
            assumed.append("Terminate=")
        }
        if !assumed.isEmpty {
            draft.note(
                .changed, at: whole,
                "\(assumed.joined(separator: " and ")) set to systemd's default, 1min 30s: the unit does not set it"
            )
        }
        // 0 and infinity turn the watchdog off: systemd.service(5).
        if let update = unit.take("WatchdogSec"), ![.never, .span(.zero)].contains(ForeignTime.systemd(update.value)) {
            importAllowance(.update, update)
        }
    }

    /// DefaultTimeoutStartSec= and DefaultTimeoutStopSec= of systemd-system.conf(5).
    private static let standardTimeout = "1min 30s"

    private mutating func importAllowance(_ key: ConfigurationKey, _ setting: SystemdUnit.Setting) {
        guard var time = ForeignTime.systemd(setting.value) else {
            return draft.note(.dropped, at: setting.place, "\(setting.shown) is not a time span")
        }
        // 0 turns a timeout off: systemd.service(5).
        if time == .span(.zero) { time = .never }
        if time == .never {
            draft.note(
                .changed, at: setting.place,
                "\(setting.shown) became \(key.rawValue)=\(time.text): no allowance is infinite")
        }
        draft.carry(key, time.text, of: setting.shown, at: setting.place)
    }

    // MARK: - Restarts

    private mutating func importRestart() {
        let restart = unit.take("Restart")
        let policies = [
            "no": "never", "always": "always", "on-failure": "on-failure", "on-watchdog": "on-watchdog",
            "on-success": "always", "on-abnormal": "on-failure", "on-abort": "on-failure",
        ]
        let value = restart?.value ?? "no"
        let policy = policies[value] ?? "never"
        draft.set(.policy, policy)
        if restart == nil {
            draft.note(
                .changed, at: whole,
                "Policy=never, systemd's default, because the unit has no Restart=; consider on-failure")
        } else if let restart, !["no", policy].contains(value) {
            draft.note(.changed, at: restart.place, "\(restart.shown) became Policy=\(policy), the nearest")
        }
        let delays = RestartDelays(
            first: unit.take("RestartSec"), last: unit.take("RestartMaxDelaySec"), steps: unit.take("RestartSteps"))
        let interval = unit.take("StartLimitInterval", "StartLimitIntervalSec")
        let burst = unit.take("StartLimitBurst")
        guard policy != "never" else { return }
        delays.put(into: &draft)
        importLimit(interval, burst)
    }

    private mutating func importLimit(_ interval: SystemdUnit.Setting?, _ burst: SystemdUnit.Setting?) {
        guard let setting = burst ?? interval else { return }
        let time = interval.map { ForeignTime.systemd($0.value) } ?? .span(.seconds(10))
        guard let time else {
            return draft.note(.dropped, at: setting.place, "\(interval?.shown ?? "") is not a time span")
        }
        // Either turns the limit off: systemd.unit(5).
        if time == .span(.zero) || burst.flatMap({ Int($0.value) }) == 0 { return draft.set(.limit, "infinity") }
        // DefaultStartLimitBurst= of systemd-system.conf(5).
        guard draft.carry(.limit, burst?.value ?? "5", of: setting.shown, at: setting.place) else { return }
        draft.carry(.limitInterval, time.text, of: setting.shown, at: setting.place)
        draft.set(.atLimit, "stop")
        if time == .never, let interval {
            draft.note(.changed, at: interval.place, "\(interval.shown) became LimitInterval=\(time.text)")
        }
    }

    // MARK: - The process

    private mutating func importIdentity() {
        guard let dynamic = unit.take("DynamicUser"), !dynamic.isOff else { return }
        draft.note(
            .toDo, at: dynamic.place,
            "\(dynamic.shown): set User= to an existing user; without one, the app runs as watchdogd's user")
        if let user = unit.take("User") {
            draft.note(.dropped, at: user.place, "\(user.shown) is created by systemd for DynamicUser=")
        }
        if let group = unit.take("Group") {
            draft.note(.dropped, at: group.place, "\(group.shown) is created by systemd for DynamicUser=")
        }
    }

    private mutating func importDirectories() {
        func translated(_ value: String?) -> String? { value.map { specifiers.translated($0) } }
        let specifiers = specifiers
        let owner = translated(unit.value("User"))
        let group = translated(unit.value("Group"))
        for kind in SystemdDirectory.allCases {
            let settings = unit.takeAll(kind.rawValue)
            let mode = unit.take(kind.rawValue + "Mode")
            _ = kind == .runtime ? unit.take("RuntimeDirectoryPreserve") : nil
            guard !settings.isEmpty else { continue }
            var paths: [String] = []
            for setting in settings {
                for word in specifiers.translated(setting.value).split(whereSeparator: { $0 == " " || $0 == "\t" }) {
                    // The text after a colon is the name of a link.
                    let name = word.prefix { $0 != ":" }
                    let path = kind.root(isOfUser: isOfUser) + "/" + name
                    let command = SystemdDirectory.command(path, mode: mode?.value, owner: owner, group: group)
                    if draft.carry(.execStartPre, command, of: setting.shown, at: setting.place) { paths.append(path) }
                }
                draft.note(.changed, at: setting.place, "\(setting.shown) became an ExecStartPre= that creates it")
            }
            if !paths.isEmpty {
                draft.carry(
                    .environment, "\(kind.variable)=\(paths.joined(separator: ":"))", of: settings[0].shown,
                    at: settings[0].place)
            }
        }
    }

    private mutating func importOutputs() {
        for (key, known) in [("StandardOutput", ConfigurationKey.standardOutput), ("StandardError", .standardError)] {
            guard let setting = unit.take(key) else { continue }
            switch setting.value {
            // Standard error follows standard output, as in watchdogd.
            case "inherit" where known == .standardError: break
            case "inherit", "syslog", "journal+console", "syslog+console", "kmsg", "kmsg+console":
                draft.set(known, "journal")
                draft.note(.changed, at: setting.place, "\(setting.shown) became \(key)=journal")
            default: draft.carry(known, translated(setting), of: setting.shown, at: setting.place)
            }
        }
    }

    private mutating func importInstall() {
        let wanted = unit.takeAll("WantedBy") + unit.takeAll("RequiredBy") + unit.takeAll("UpheldBy")
        guard wanted.isEmpty else { return }
        draft.set(.enabled, "no")
        draft.note(.changed, at: whole, "Enabled=no, because nothing in [Install] starts the unit at boot")
    }

    // MARK: - The rest

    private mutating func importRest(_ setting: SystemdUnit.Setting) {
        if let key = Self.same[setting.key] {
            draft.carry(key, SystemdValue.translated(setting, specifiers), of: setting.shown, at: setting.place)
        } else if let reason = Self.toDo[setting.key], !setting.isOff {
            draft.note(.toDo, at: setting.place, "\(setting.shown): \(reason)")
        } else if let reason = UnitFile.reasonForLack(ofKey: setting.key) {
            guard !SystemdValue.isWatchdogdsOwn(setting) else { return }
            let isActivation =
                ["Requires", "BindsTo", "Also"].contains(setting.key) && setting.value.contains(".socket")
            if isActivation {
                let advice = "its socket opens before it; let the program open its sockets itself"
                return draft.note(.toDo, at: setting.place, "\(setting.shown): \(advice)")
            }
            // Mention each reason once: a confined unit has dozens of lines with the same one.
            let earlier = reasons[reason].flatMap { $0.file == setting.place.file ? $0.line : nil }
            let text = earlier.map { " (see line \($0))" } ?? ": \(reason)"
            if earlier == nil { reasons[reason] = setting.place }
            draft.note(.dropped, at: setting.place, "\(setting.shown) has no counterpart\(text)")
        } else {
            draft.note(
                .dropped, at: setting.place, "\(setting.shown): neither watchdogd nor systemd 257 has this setting")
        }
    }

    /// Keys whose values can be copied.
    private static let same: [String: ConfigurationKey] = {
        let keys: [ConfigurationKey] = [
            .description, .user, .group, .supplementaryGroups, .noNewPrivileges, .workingDirectory, .environment,
            .environmentFile, .umask, .nice, .oomScoreAdjust, .cpuQuota, .memoryMax, .tasksMax,
        ]
        var same = Dictionary(uniqueKeysWithValues: keys.map { ($0.rawValue, $0) })
        for key in ConfigurationKey.allCases where key.limitedResource != nil { same[key.rawValue] = key }
        same["MemoryLimit"] = .memoryMax
        return same
    }()

    /// Keys without which the program does not run, or runs less safely.
    private static let toDo = [
        "Sockets": "the app gets no descriptors; let the program open its sockets itself",
        "RootDirectory": "the program's files are below it; run watchdogd in a unit with this setting",
        "RootImage": "the program's files are in it; run watchdogd in a unit with this setting",
        "TTYPath": "the program wants a terminal, and an app has none",
    ]
}
