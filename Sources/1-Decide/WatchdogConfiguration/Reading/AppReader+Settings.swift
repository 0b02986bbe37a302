// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

extension AppReader {
    /// Sets a key's value; an empty value restores the default or clears the list.
    mutating func set(_ key: ConfigurationKey, to text: SourceText) throws(ValueError) {
        switch key.section {
        case .app: try setApp(key, text)
        case .watchdog: try setWatchdog(key, text)
        case .restart: try setRestart(key, text)
        }
    }

    private mutating func setApp(_ key: ConfigurationKey, _ text: SourceText) throws(ValueError) {
        if let resource = key.limitedResource { return try setLimit(resource, text) }
        let expansion = expansion
        switch key {
        case .execStart: try setCommand(text)
        case .observe: try setObserved(text)
        case .execStartPre: try addCommands(to: \.program.preparations, key, text)
        case .execReload: try addCommands(to: \.program.reloadCommands, key, text)
        case .description: try set(\.program.description, text, try text.expanded(by: expansion))
        case .version: try set(\.program.version, text, try text.expanded(by: expansion))
        case .user: try set(\.program.user, text, try Self.account(text, "user", expansion))
        case .group: try set(\.program.group, text, try Self.account(text, "group", expansion))
        case .supplementaryGroups: addGroups(text)
        case .workingDirectory: try set(\.program.workingDirectory, text, try Self.directory(text, expansion))
        case .environment: try addVariables(text)
        case .environmentFile: try addEnvironmentFile(text)
        case .umask: try set(\.program.fileModeMask, text, try ValueReader.octal(text, upTo: 0o777))
        case .nice: try set(\.program.niceness, text, try ValueReader.integer(text, in: -20...19, signed: true))
        case .oomScoreAdjust:
            try set(\.program.oomScoreAdjustment, text, try ValueReader.integer(text, in: -1000...1000, signed: true))
        case .standardOutput: try set(\.program.standardOutput, text, try Self.output(text, expansion))
        case .standardError: try set(\.program.standardError, text, try Self.output(text, expansion))
        case .noNewPrivileges: try set(\.program.noNewPrivileges, text, try ValueReader.boolean(text))
        case .cpuQuota: try set(\.program.cpuQuota, text, try Self.quota(text))
        case .memoryMax: try set(\.program.memoryMaximum, text, try Self.amount(text, ValueReader.size))
        case .tasksMax: try set(\.program.tasksMaximum, text, try Self.amount(text, ValueReader.count))
        case .enabled: try set(\.isEnabled, text, try ValueReader.boolean(text))
        default: preconditionFailure("\(key.rawValue) is not a key of [App]")
        }
    }

    private mutating func setWatchdog(_ key: ConfigurationKey, _ text: SourceText) throws(ValueError) {
        switch key {
        case .launch: try set(\.watchdog.allowances.launch, text, try Self.allowance(text))
        case .update: try set(\.watchdog.allowances.update, text, try Self.allowance(text))
        case .terminate: try set(\.watchdog.allowances.terminate, text, try Self.allowance(text))
        case .reload: try set(\.watchdog.reloadAllowance, text, try Self.allowance(text))
        case .ping: try set(\.watchdog.pingInterval, text, try Self.allowance(text))
        case .readiness: try setReadiness(text)
        case .probe: try setProbe(text)
        case .probeInterval: probe.interval = text.isEmpty ? nil : try Self.allowance(text)
        case .probeTimeout: probe.timeout = text.isEmpty ? nil : try Self.allowance(text)
        case .probeThreshold: probe.threshold = text.isEmpty ? nil : try ValueReader.integer(text, in: 1...1000)
        case .probeStatus: probe.statuses = text.isEmpty ? nil : try Self.statuses(text)
        case .probeBody: probe.body = text.isEmpty ? nil : try Self.body(text)
        case .enforce: try setEnforcement(text)
        case .hangReports: try set(\.watchdog.hangReports, text, try Self.hangReports(text))
        case .crashReports: try set(\.watchdog.crashReports, text, try Self.crashReports(text))
        case .reportsInJournal: try set(\.watchdog.reportsInJournal, text, try ValueReader.boolean(text))
        case .recordLaunches: try set(\.watchdog.recordsLaunches, text, try ValueReader.boolean(text))
        case .crashStacks: try set(\.watchdog.takesCrashStacks, text, try ValueReader.boolean(text))
        case .onIncident:
            let expansion = expansion
            try set(\.watchdog.incidentHook, text, try Self.hook(text, expansion))
        case .onIncidentTimeout: hook.timeout = text.isEmpty ? nil : try Self.hookTimeout(text)
        case .onIncidentFor:
            hook.occasion =
                text.isEmpty
                ? nil : try ValueReader.choice(text, IncidentHook.Occasion.allCases.map { ($0.rawValue, $0) })
        case .extensionCap: try set(\.watchdog.extensionCap, text, try ValueReader.span(text))
        case .allowBlindExtension: try set(\.watchdog.allowsBlindExtension, text, try ValueReader.boolean(text))
        case .keepStacks: try set(\.watchdog.keepsStacks, text, try ValueReader.boolean(text))
        case .keepReports: try set(\.watchdog.reportAge, text, try ValueReader.span(text, atLeast: .seconds(60)))
        case .timeScale: try set(\.watchdog.timeScale, text, try ValueReader.factor(text, in: 0.001...1000))
        default: try setLifecycle(key, text)
        }
    }

    private mutating func setRestart(_ key: ConfigurationKey, _ text: SourceText) throws(ValueError) {
        if let cause = key.limitedCause {
            draft.restart.causeLimits[cause] = text.isEmpty ? nil : try Self.restartLimit(text)
            return
        }
        switch key {
        case .policy:
            try set(
                \.restart.policy, text,
                try ValueReader.choice(
                    text, RestartSettings.Policy.allCases.map { ($0.rawValue, $0) },
                    synonyms: [
                        "no": "never", "on-abnormal": "on-failure", "on-abort": "on-failure", "on-success": "always",
                        "unless-stopped": "always", "yes": "always",
                    ])
            )
        case .delay: try set(\.restart.delay, text, try ValueReader.span(text))
        case .factor: try set(\.restart.factor, text, try ValueReader.factor(text, in: 1...100))
        case .maxDelay: try set(\.restart.maximumDelay, text, try ValueReader.span(text))
        case .reset: try set(\.restart.healthyTime, text, try Self.allowance(text))
        case .limit: try set(\.restart.limit, text, try Self.restartLimit(text))
        case .limitInterval: try set(\.restart.limitInterval, text, try Self.allowance(text))
        case .atLimit:
            try set(
                \.restart.consequence, text,
                try ValueReader.choice(text, RestartSettings.Consequence.allCases.map { ($0.rawValue, $0) })
            )
        default: preconditionFailure("\(key.rawValue) is not a key of [Restart]")
        }
    }

    private mutating func setLimit(_ resource: LimitedResource, _ text: SourceText) throws(ValueError) {
        let limit = text.isEmpty ? nil : try ValueReader.limit(text, on: resource)
        var limits = draft.program.limits.filter { $0.resource != resource }
        if let limit { limits.append(limit) }
        // Sorted, so that equivalent configurations are equal.
        let order = LimitedResource.allCases
        draft.program.limits = order.compactMap { resource in limits.first { $0.resource == resource } }
    }

    // MARK: - Values

    static func allowance(_ text: SourceText) throws(ValueError) -> Duration {
        try ValueReader.span(text, atLeast: .milliseconds(1))
    }

    private static func hangReports(_ text: SourceText) throws(ValueError) -> Duration? {
        if try ValueReader.short(text) == "off" { return nil }
        return try ValueReader.span(text, atLeast: .milliseconds(250))
    }

    private static func crashReports(_ text: SourceText) throws(ValueError) -> CrashReports? {
        let choices: [(String, CrashReports?)] = CrashReports.allCases.map { ($0.rawValue, $0) } + [("off", nil)]
        return try ValueReader.choice(text, choices)
    }

    private static func quota(_ text: SourceText) throws(ValueError) -> Duration? {
        guard let share = try ValueReader.percentage(text), share > 0, share <= 100_000_000 else {
            let message = "\(text.string.quoted()) is not a share of a CPU; write for example 50%, or 200% for two CPUs"
            throw ValueError(message: message, length: text.count)
        }
        return .microseconds(share * 100)
    }

    private static func amount(
        _ text: SourceText, _ number: (SourceText) throws(ValueError) -> UInt64
    ) throws(ValueError) -> ResourceAmount? {
        if try ValueReader.short(text) == "infinity" { return nil }
        if let share = try ValueReader.percentage(text) {
            guard (1...10_000).contains(share) else {
                throw ValueError(message: "a share of the machine is above 0% and at most 100%", length: text.count)
            }
            return .share(hundredthsOfPercent: share)
        }
        let amount = try number(text)
        guard amount > 0 else {
            throw ValueError(message: "0 leaves nothing; write infinity for no limit", length: text.count)
        }
        return .absolute(amount)
    }

    private static func restartLimit(_ text: SourceText) throws(ValueError) -> RestartSettings.Limit {
        if try ValueReader.short(text) == "infinity" { return .infinity }
        return .count(try ValueReader.integer(text, in: 1...1_000_000))
    }

    private static func account(
        _ text: SourceText, _ kind: String, _ expansion: SpecifierExpansion
    ) throws(ValueError) -> String {
        let name = try text.expanded(by: expansion)
        guard isAccount(name) else {
            throw ValueError(message: "\(name.quoted()) is not the name or number of a \(kind)", length: text.count)
        }
        return name
    }

    /// Whether a name is within the limits of useradd(8) and systemd.
    private static func isAccount(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 256, first != UInt8(ascii: "-") else { return false }
        if first.isDigit { return UInt32(name).map { $0 != .max } ?? false }
        return name.unicodeScalars.allSatisfy { $0.isPrintable && !":/, \"'\\".unicodeScalars.contains($0) }
    }

    /// Group names are not quoted: none needs it.
    private mutating func addGroups(_ text: SourceText) {
        guard !text.isEmpty else {
            draft.program.supplementaryGroups = []
            return
        }
        var start = 0
        while start < text.count {
            let end = (start..<text.count).first { text[$0].isBlank } ?? text.count
            if end > start { addGroup(text[start..<end], in: text, at: start) }
            start = end + 1
        }
    }

    private mutating func addGroup(_ word: SourceText, in text: SourceText, at start: Int) {
        do throws(ValueError) {
            draft.program.supplementaryGroups.append(try Self.account(word, "group", expansion))
        } catch {
            var moved = error
            moved.offset += start
            tell(moved, of: .supplementaryGroups, in: text)
        }
    }

    private static func directory(
        _ text: SourceText, _ expansion: SpecifierExpansion
    ) throws(ValueError) -> WorkingDirectory {
        let path = try text.expanded(by: expansion)
        let isOptional = path.hasPrefix("-")
        let rest = isOptional ? String(path.dropFirst()) : path
        if rest == "~" { return WorkingDirectory(.home, isOptional: isOptional) }
        return WorkingDirectory(.path(try absolute(rest, text)), isOptional: isOptional)
    }

    private static func output(_ text: SourceText, _ expansion: SpecifierExpansion) throws(ValueError) -> OutputTarget {
        let word = try text.expanded(by: expansion)
        switch word {
        case "journal": return .journal
        case "inherit": return .inherit
        case "null": return .null
        default: break
        }
        for (prefix, target) in [
            ("file:", { .file(path: $0) }), ("append:", { .append(path: $0) }), ("truncate:", { .truncate(path: $0) }),
        ] as [(String, (String) -> OutputTarget)] where word.hasPrefix(prefix) {
            return target(try absolute(String(word.dropFirst(prefix.count)), text))
        }
        let names = ["journal", "inherit", "null"]
        throw ValueError(
            message: "\(word.quoted()) is not one of journal, inherit, null, file:PATH, append:PATH or truncate:PATH",
            length: text.count,
            suggestion: word.hasPrefix("/")
                ? "append:\(word.prefix(80))" : Similarity.nearest(to: String(word.prefix(64)), among: names))
    }

    /// Validates an absolute path.
    static func absolute(_ path: String, _ text: SourceText) throws(ValueError) -> String {
        guard path.hasPrefix("/") else {
            throw ValueError(message: "\(path.quoted()) is not an absolute path", length: text.count)
        }
        // PATH_MAX counts the NUL: path_resolution(7).
        guard path.utf8.count < 4096 else {
            throw ValueError(message: "the path is longer than 4095 bytes", length: text.count)
        }
        return path
    }

    func expanded(_ word: Word) throws(ValueError) -> String {
        do throws(ValueError) {
            return try expansion.expand(word.bytes)
        } catch {
            throw word.error(error)
        }
    }
}

extension SourceText {
    /// The text with its specifiers expanded.
    func expanded(by expansion: SpecifierExpansion) throws(ValueError) -> String {
        try expansion.expand(bytes)
    }
}
