// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogConfiguration
public import WatchdogMeasurement

/// A first app file for a program, from a trial launch.
public struct StarterFile: Sendable {
    private let name: AppName
    private let findings: TrialFindings
    private let directory: String
    private let isRoot: Bool
    private let needsDirectory: Bool

    /// Creates a file from the findings of a trial.
    ///
    /// - Parameters:
    ///   - directory: the working directory of the trial.
    ///   - isRoot: whether the program ran as root.
    ///   - needsDirectory: whether the command has paths relative to that directory.
    public init(
        name: AppName, findings: TrialFindings, directory: String, isRoot: Bool, needsDirectory: Bool = false
    ) {
        self.name = name
        self.findings = findings
        self.directory = directory
        self.isRoot = isRoot
        self.needsDirectory = needsDirectory
    }

    /// The app's name for a command: that of its file, restricted to valid characters.
    public static func name(for command: [String]) -> AppName {
        let file = command.first?.split(separator: "/").last.map(String.init) ?? ""
        let kept = file.unicodeScalars.map { scalar in
            scalar.isASCII
                && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                    || "-_.".unicodeScalars.contains(scalar))
                ? Character(scalar) : "_"
        }
        return (try? AppName(String(kept.prefix(AppName.maximumLength)))) ?? app
    }

    /// The option that keeps a well-known program in the foreground; nil if unknown.
    public static func foregroundOption(of program: String) -> String? { ForegroundHint.option(of: program) }

    private static let app: AppName = {
        guard let name = try? AppName("app") else { preconditionFailure("\"app\" is a name") }
        return name
    }()

    /// The text of the file, with a comment about the observation behind each setting.
    ///
    /// - Throws: ``ImportError`` if the command is invalid in an app file.
    public func text(specifiers: Specifiers) throws(ImportError) -> String {
        let text = (head + app + watchdog + restart).joined(separator: "\n") + "\n"
        let file = ConfigurationFile(path: "\(name)\(AppName.fileSuffix)", text: text)
        let definition = AppDefinition(name: name, files: [file], specifiers: specifiers)
        guard definition.configuration != nil else {
            let reason = definition.diagnostics.first { $0.severity == .error }?.message ?? "it is invalid"
            throw ImportError(ImportPlace(file: file.path), "the file for this command would be invalid: \(reason)")
        }
        return text
    }

    // MARK: - Sections

    private var head: [String] {
        [
            "# \(name)\(AppName.fileSuffix), written by 'watchdogd init' after one launch on this machine.",
            "# All settings: watchdogd.app(5). Put it into apps.d, and check it: watchdogd check \(name)\(AppName.fileSuffix)",
            "",
        ]
    }

    private var app: [String] {
        var lines = ["[App]", "ExecStart=\(UnitText.command(findings.command))"]
        if isRoot { lines += ["# It was tried as root. Give it a user of its own:", "#User=\(name.prefix)"] }
        if directory != "/", !directory.contains("\u{fffd}"), directory.singleLine() == directory {
            let reason =
                needsDirectory
                ? "# The command names files in this folder."
                : "# It was tried in this folder; an app of the system runs in /."
            let mark = needsDirectory ? "" : "#"
            lines += [reason, "\(mark)WorkingDirectory=\(UnitText.escapedSpecifiers(directory))"]
        }
        return lines + [""]
    }

    private var watchdog: [String] {
        var lines = ["[Watchdog]"] + readiness
        if let launch = findings.launch {
            lines += ["# Five times as long as this launch, at least 5 s.", "Launch=\(Self.allowance(launch))"]
        } else {
            lines += ["# From execve until it is ready.", "#Launch=20s"]
        }
        lines += update
        switch findings.end {
        case .terminated(let time):
            lines += ["# It exited \(time.brief) after SIGTERM.", "Terminate=\(Self.allowance(time))"]
        case .killed(let time):
            lines += [
                "# It did not exit within \(time.brief) of SIGTERM, and watchdogd kills it when this time is over.",
                "Terminate=5s",
            ]
        case .exited: lines += ["# From SIGTERM until it has exited.", "#Terminate=5s"]
        }
        return lines + probe + [""]
    }

    private var readiness: [String] {
        if let ready = findings.ready {
            let time = ready.time.brief
            return ["# It sent READY=1 after \(time).", "Readiness=\(ready.source.rawValue)"]
        }
        guard let listener = chosen else {
            return [
                "# It did not report readiness. A program that reports nothing counts as launched when Launch= ends.",
                "#Readiness=auto",
            ]
        }
        return [
            "# It listened on \(listener.address) after \(listener.time.brief).",
            "Readiness=listen:\(Self.escaped(Self.listening(listener.address)))",
        ]
    }

    private var update: [String] {
        if findings.hello != nil {
            return ["# It opened the channel: its main loop has this time for each answer.", "Update=10s"]
        }
        guard findings.heartbeats > 0 else { return [] }
        return ["# It sends WATCHDOG=1: this is the longest time between two of them.", "Update=10s"]
    }

    private var probe: [String] {
        guard let listener = chosen else {
            guard findings.hello == nil, findings.heartbeats == 0 else { return [] }
            return [
                "# It sends no heartbeat, so watchdogd cannot detect a hang. Set a command that exits with 0 while it works:",
                "#Probe=exec:true",
            ]
        }
        let mark = findings.hello == nil && findings.heartbeats == 0 ? "" : "#"
        let address = Self.escaped(Self.connecting(listener.address))
        guard let status = listener.httpStatus else {
            let kind = address.hasPrefix("/") || address.hasPrefix("@") ? "unix" : "tcp"
            return [
                "# Three failed connections in a row count as a hang.", "\(mark)Probe=\(kind):\(address)",
            ]
        }
        var lines = [
            "# It answered GET / with \(status). Three wrong or missing answers in a row are a hang.",
            "\(mark)Probe=http://\(address)/",
        ]
        if !(200...399).contains(status) { lines.append("\(mark)ProbeStatus=200-399 \(status)") }
        return lines
    }

    private var restart: [String] {
        var lines = ["[Restart]"]
        if case .exited(let code, let time) = findings.end {
            lines += ["# In the trial, it exited by itself after \(time.brief), with code \(code)."]
        }
        return lines + ["# always, on-failure (unless it exits with 0), on-watchdog, or never.", "Policy=on-failure"]
    }

    // MARK: - Values

    /// The socket to probe: one that speaks HTTP, else a port, else a path; without those that change with each launch.
    private var chosen: TrialFindings.Listener? {
        let steady = findings.listeners.filter { isSteady($0.address) }
        return steady.first { $0.httpStatus != nil } ?? steady.first { !Self.isUnix($0.address) } ?? steady.first
    }

    private static func isUnix(_ address: String) -> Bool { address.hasPrefix("/") || address.hasPrefix("@") }

    /// Whether an address is stable: a port chosen by the kernel (ip(7), ip_local_port_range) is not in the command.
    private func isSteady(_ address: String) -> Bool {
        guard address.singleLine() == address, !address.contains(" ") else { return false }
        guard !Self.isUnix(address), let port = Int(address.split(separator: ":").last ?? "") else { return true }
        return port < 32_768 || findings.command.contains { $0.contains(String(port)) }
    }

    private static func escaped(_ address: String) -> String { UnitText.escapedSpecifiers(address) }

    private static func port(ofAny address: String) -> Substring? {
        address.dropping("0.0.0.0:") ?? address.dropping("[::]:")
    }

    private static func listening(_ address: String) -> String { port(ofAny: address).map { "*:\($0)" } ?? address }
    private static func connecting(_ address: String) -> String {
        port(ofAny: address).map { "localhost:\($0)" } ?? address
    }

    /// Five times the time, rounded, at least 5 s.
    static func allowance(_ time: Duration) -> String {
        let steps = [5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600].map { Duration.seconds($0) }
        return TimeSpan.format(steps.first { $0 >= time * 5 } ?? time * 5)
    }
}
