// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// The effective settings of a unit with its drop-ins: systemd.unit(5).
struct SystemdUnit {
    struct Setting {
        let key: String
        let value: String
        let place: ImportPlace
        /// The position among all lines; the last one wins.
        let order: Int
    }

    /// The maximum number of settings.
    private static let maximumCount = 10_000

    /// The settings in the order of lines.
    private(set) var settings: [Setting] = []
    /// Notes about lines that are not settings of a service.
    private(set) var strays: [ImportNote] = []
    private var count = 0

    /// Reads a unit and its drop-ins, in the order in which they apply.
    init(_ files: [ConfigurationFile]) throws(ImportError) {
        for file in files {
            let unit = UnitFile(file)
            for diagnostic in unit.diagnostics {
                let place = ImportPlace(file: file.path, line: diagnostic.line)
                // systemd skips such lines; a file without any setting is not a unit.
                guard !unit.settings.isEmpty else { throw ImportError(place, diagnostic.message) }
                strays.append(ImportNote(kind: .dropped, place: place, message: diagnostic.message))
            }
            guard settings.count + unit.settings.count <= Self.maximumCount else {
                throw ImportError(ImportPlace(file: file.path), "the unit has more than 10,000 settings")
            }
            for setting in unit.settings { add(setting, of: file.path) }
        }
    }

    private mutating func add(_ setting: UnitFile.Setting, of file: String) {
        let place = ImportPlace(file: file, line: setting.line)
        guard !setting.section.hasPrefix("X-"), !setting.key.hasPrefix("X-") else { return }
        guard ["Unit", "Service", "Install"].contains(setting.section) else {
            let section = setting.section.singleLine(limit: 40)
            return stray(setting, place, "is in [\(section)], not in [Unit], [Service] or [Install]")
        }
        if let section = SystemdSections.section(of: setting.key, unlike: setting.section) {
            return stray(
                setting, place, "is in [\(setting.section)], where systemd ignores it; it belongs in [\(section)]")
        }
        // An empty value resets the earlier ones. It is kept if the empty list itself is a setting.
        let isReset = setting.value.isEmpty
        if isReset, SystemdSections.needsValue(setting.key) {
            return stray(setting, place, "is empty, which systemd ignores")
        }
        if !isReset, SystemdRefusal.refuses(setting.key, setting.value) {
            return stray(setting, place, "has a value that systemd does not know, so that it ignores the line")
        }
        if isReset || !Self.isList(setting.key) { settings.removeAll { $0.key == setting.key } }
        guard !isReset || setting.key == "CapabilityBoundingSet" else { return }
        settings.append(Setting(key: setting.key, value: setting.value, place: place, order: count))
        count += 1
    }

    private mutating func stray(_ setting: UnitFile.Setting, _ place: ImportPlace, _ reason: String) {
        let shown = Printable.setting(setting.key, setting.value)
        strays.append(ImportNote(kind: .dropped, place: place, message: "\(shown) \(reason)"))
    }

    /// Whether a second line is appended to the first.
    private static func isList(_ key: String) -> Bool {
        // Lists that watchdogd does not support need no entry here, because all their lines are dropped.
        lists.contains(key) || (UnitFile.reasonForLack(ofKey: key) != nil && !scalars.contains(key))
    }

    private static let lists: Set<String> = [
        "ExecStart", "ExecStartPre", "ExecReload", "Environment", "EnvironmentFile", "SupplementaryGroups", "WantedBy",
        "RequiredBy", "UpheldBy", "RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory",
        "ConfigurationDirectory", "Documentation",
    ]

    private static let scalars: Set<String> = ["KillSignal", "KillMode", "SendSIGKILL", "PIDFile", "DynamicUser"]

    // MARK: - Taking settings out

    /// Removes and returns all lines of a key.
    mutating func takeAll(_ key: String) -> [Setting] {
        let taken = settings.filter { $0.key == key }
        settings.removeAll { $0.key == key }
        return taken
    }

    /// Removes a key, or several names of it, and returns the effective line.
    mutating func take(_ keys: String...) -> Setting? {
        keys.compactMap { takeAll($0).last }.max { $0.order < $1.order }
    }

    func value(_ key: String) -> String? { settings.last { $0.key == key }?.value }
}

extension SystemdUnit.Setting {
    /// `Key=Value`, cut for a message.
    var shown: String { Printable.setting(key, value) }

    /// Whether it is one of systemd's spellings of false.
    var isOff: Bool { ["0", "no", "n", "false", "f", "off"].contains(value.lowercased()) }
    /// Whether it is one of systemd's spellings of true.
    var isOn: Bool { ["1", "yes", "y", "true", "t", "on"].contains(value.lowercased()) }
}
