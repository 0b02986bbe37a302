// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// A drop-in that runs the command of an existing unit under `watchdogd run`.
public struct UnitWrap: Hashable, Sendable {
    /// The options of the wrapped command, in addition to its unit.
    public struct Options: Hashable, Sendable {
        /// The path of watchdogd.
        public var program = "/usr/bin/watchdogd"
        /// The options of `watchdogd run`, one per argument.
        public var words: [String] = []

        /// Creates options for the installed watchdogd without further arguments.
        public init() {}
    }

    /// The first line of each drop-in: it identifies files of this command.
    public static let mark = "# Written by watchdogd wrap."
    /// The name of the drop-in.
    public static let fileName = "50-watchdogd.conf"

    /// The unit's complete name: `redis-server.service`.
    public let unit: String
    /// The text of the drop-in.
    public let text: String
    /// The differences in behavior, one sentence without a period each.
    public let notes: [String]

    /// The folder of the drop-in.
    public var directory: String { "/etc/systemd/system/\(unit).d" }
    /// The drop-in's path.
    public var path: String { "\(directory)/\(Self.fileName)" }

    /// Creates the drop-in.
    ///
    /// - Parameters:
    ///   - unit: the unit's complete name.
    ///   - files: the unit and its other drop-ins, in the order in which they apply.
    ///   - hasSocket: whether a socket unit starts it.
    /// - Throws: ``ImportError`` with the line whose meaning cannot be kept.
    init(_ unit: String, _ files: [ConfigurationFile], hasSocket: Bool, _ options: Options) throws(ImportError) {
        self.unit = unit
        let whole = ImportPlace(file: files[0].path)
        let settings = try SystemdUnit(files).settings
        func last(_ key: String) -> SystemdUnit.Setting? { settings.last { $0.key == key } }
        for setting in settings {
            if let reason = Self.refusal(setting) { throw ImportError(setting.place, reason) }
        }
        guard !hasSocket else {
            throw ImportError(
                whole, "a socket starts it, and watchdogd run does not pass sockets on; observe it instead")
        }
        let commands = settings.filter { $0.key == "ExecStart" }
        guard let command = commands.first, commands.count == 1 else {
            let place = commands.dropFirst().first?.place ?? whole
            throw ImportError(place, "it has \(commands.isEmpty ? "no" : "several") ExecStart=, and needs exactly one")
        }
        let (prefix, rest) = Self.split(command.value)
        guard !prefix.contains("@") else {
            throw ImportError(
                command.place, "the prefix @ gives the program another name, and watchdogd run cannot do that")
        }
        let name = String(unit.dropLast(".service".count))
        let reports = "watchdogd-" + name.map { "@/ ".contains($0) ? "-" : String($0) }.joined()
        var words = ["\(prefix)\(options.program)", "run", "--name", name, "--reports", "/var/log/\(reports)"]
        let type = last("Type")?.value ?? "simple"
        var limits: [String] = []
        func isGiven(_ option: String) -> Bool { options.words.contains { $0.hasPrefix(option) } }
        /// Passes systemd's time limit to watchdogd, and extends systemd's own, so that watchdogd can write the crash
        /// log first.
        func pass(_ key: String, as option: String) {
            guard !isGiven(option) else { return }
            let value = (last(key) ?? last("TimeoutSec"))?.value
            // DefaultTimeoutStartSec= and DefaultTimeoutStopSec= of systemd-system.conf(5).
            var span = Duration.seconds(90)
            switch value.flatMap({ ForeignTime.systemd($0) }) {
            case .span(let given)? where given > .zero: span = min(given, ForeignTime.longest)
            case .span?, .never?: span = ForeignTime.longest
            case nil: break
            }
            words += [option, "\"\(TimeSpan.format(span))\""]
            limits.append("\(key)=\(TimeSpan.format(span + Self.margin))")
        }
        if type.hasPrefix("notify") {
            words += ["--readiness", "notify"]
            pass("TimeoutStartSec", as: "--launch")
        }
        pass("TimeoutStopSec", as: "--terminate")
        var notes: [String] = []
        if let watchdog = last("WatchdogSec"), case .span(let span)? = ForeignTime.systemd(watchdog.value),
            span > .zero, !isGiven("--update")
        {
            words += ["--update", "\"\(TimeSpan.format(span))\""]
            notes.append("watchdogd enforces WatchdogSec=\(watchdog.value.singleLine()) and answers systemd itself")
        }
        if let restart = last("Restart")?.value, ["no", "on-success"].contains(restart) {
            notes.append("Restart=\(restart): a hang ends the service, and nothing starts it again")
        } else if let codes = Self.restartingCodes[last("Restart")?.value ?? ""] {
            // These codes stand for signals: watchdogd exits with 128 + the signal.
            limits.append("RestartForceExitStatus=\(codes)")
        } else if last("Restart") == nil {
            notes.append("without Restart=, a hang ends the service, and nothing starts it again")
        }
        if let filter = last("SystemCallFilter") {
            notes.append(
                "SystemCallFilter=\(filter.value.singleLine(limit: 40)) may forbid ptrace(2) and unshare(2): crash logs then "
                    + "have fewer stacks")
        }
        words += options.words.map { Self.quoted($0, isExpanded: !prefix.contains(":")) } + ["--", rest]
        self.notes = notes
        text = """
            \(Self.mark)
            # 'watchdogd unwrap \(unit)' removes it.

            [Service]
            ExecStart=
            ExecStart=\(words.joined(separator: " "))
            # SIGTERM goes to watchdogd, which asks the program to exit; then systemd kills everything.
            KillMode=mixed
            # The exit codes when SIGHUP, SIGINT, SIGPIPE or SIGTERM ends the program: 128 + the signal.
            SuccessExitStatus=129 130 141 143
            # Gives the program its own cgroup, so that no process escapes a kill.
            Delegate=yes
            # For crash logs.
            LogsDirectory=\(reports)
            \(limits.joined(separator: "\n"))

            """
    }

    private static let margin = Duration.seconds(10)

    /// The exit codes of watchdogd after which systemd must restart the unit, by its `Restart=`: 137 after a kill, and
    /// 128 + the signals that systemd.service(5) counts as unclean.
    private static let restartingCodes = [
        "on-abnormal": "132 133 134 135 136 137 139 152 153 159",
        "on-abort": "132 133 134 135 136 137 139 152 153 159", "on-watchdog": "137",
    ]

    /// Quotes a word for a unit: systemd.syntax(7), "Quoting"; systemd.service(5), "Command lines".
    ///
    /// - Parameter isExpanded: whether systemd replaces variables on this line.
    private static func quoted(_ word: String, isExpanded: Bool) -> String {
        let escaped = word.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "%": "%%"
            case "$": isExpanded ? "$$" : "$"
            case "\n": "\\n"
            case "\t": "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                "\\x" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }.joined()
        let special = ";'\"\\".unicodeScalars
        let isPlain = !word.isEmpty && word.unicodeScalars.allSatisfy { $0.value > 0x20 && !special.contains($0) }
        return isPlain ? escaped : "\"\(escaped)\""
    }

    /// Splits the special prefixes of a command off: systemd.service(5), "Special executable prefixes".
    private static func split(_ command: String) -> (prefix: String, rest: String) {
        let prefix = command.prefix { "@-:+!|".contains($0) }
        return (String(prefix), String(command.dropFirst(prefix.count)))
    }

    /// The reason why a setting cannot keep its meaning; nil if it can.
    private static func refusal(_ setting: SystemdUnit.Setting) -> String? {
        switch (setting.key, setting.value) {
        case ("Type", "forking"):
            "Type=forking: watchdogd run ends when the first process does; make the program stay in the foreground"
        case ("Type", "oneshot"): "Type=oneshot: it is not a service that can hang while it runs; leave it as it is"
        case ("Type", "dbus"): "Type=dbus: systemd waits for a bus name of its main process; observe it instead"
        case ("PIDFile", _): "PIDFile=: systemd would follow a process other than watchdogd; observe it instead"
        case ("Sockets", _): "Sockets=: watchdogd run does not pass sockets on; observe it instead"
        case ("RootDirectory", _), ("RootImage", _): "\(setting.key)=: watchdogd is not inside it; observe it instead"
        case ("KillMode", "none"), ("KillMode", "process"):
            "KillMode=\(setting.value): watchdogd run leaves no process behind; observe it instead"
        case ("KillSignal", let signal) where !SystemdValue.isWatchdogdsOwn(setting):
            "KillSignal=\(signal.singleLine(limit: 40)): watchdogd run asks the program to exit by SIGTERM; observe it instead"
        case ("FileDescriptorStoreMax", let count) where count != "0":
            "FileDescriptorStoreMax=: watchdogd run does not pass descriptors on; observe it instead"
        case ("SuccessExitStatus", let codes), ("RestartPreventExitStatus", let codes),
            ("RestartForceExitStatus", let codes):
            codes.contains("SIG")
                ? "\(setting.key)= with a signal: watchdogd run exits with 128 + the signal; write that number" : nil
        case ("ExecStart", _) where setting.value.contains("watchdogd run"): "the unit already runs under watchdogd"
        default: nil
        }
    }

    /// The lines that change, as a diff shows them, safe for a terminal.
    ///
    /// - Parameter old: the current drop-in; nil without one.
    public static func difference(from old: String?, to new: String?) -> String {
        let removed = (old ?? "").split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let added = (new ?? "").split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let kept = added.difference(from: removed)
        var lines: [String] = []
        var index = 0
        let removals = Set(kept.removals.map { if case .remove(let offset, _, _) = $0 { offset } else { -1 } })
        let insertions = Set(kept.insertions.map { if case .insert(let offset, _, _) = $0 { offset } else { -1 } })
        var position = 0
        while index < removed.count || position < added.count {
            if index < removed.count, removals.contains(index) {
                lines.append("-" + removed[index])
                index += 1
            } else if position < added.count, insertions.contains(position) {
                lines.append("+" + added[position])
                position += 1
            } else {
                lines.append(" " + added[position])
                index += 1
                position += 1
            }
        }
        return lines.map { $0.singleLine() + "\n" }.joined()
    }
}

extension Importer {
    /// Creates the drop-in that runs a unit of the system under `watchdogd run`.
    ///
    /// - Parameter unit: the unit's complete name.
    /// - Throws: ``ImportError`` if the unit does not exist, or with the line whose meaning cannot be kept.
    public func wrapping(_ unit: String, _ options: UnitWrap.Options) throws(ImportError) -> UnitWrap {
        guard let path = path(ofUnit: unit) else {
            throw ImportError(
                ImportPlace(file: unit), "there is no such unit; 'systemctl list-unit-files' lists them",
                isUnreadable: true)
        }
        let own = "/\(unit).d/\(UnitWrap.fileName)"
        let place = UnitPlace(path: path, name: unit, folders: SystemdPaths.system)
        let files = [try read(path)] + (try dropIns(of: place)).filter { !$0.path.hasSuffix(own) }
        let socket = String(unit.dropLast(".service".count)) + ".socket"
        return try UnitWrap(unit, files, hasSocket: self.path(ofUnit: socket) != nil, options)
    }
}
