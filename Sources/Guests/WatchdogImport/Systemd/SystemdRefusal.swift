// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Recognizes values that systemd rejects, so that the value of an earlier line stays: systemd.syntax(7).
///
/// Only certain cases; all other values are checked by the parser of app files.
enum SystemdRefusal {
    static func refuses(_ key: String, _ value: String) -> Bool {
        switch key {
        case "TimeoutSec", "TimeoutStartSec", "TimeoutStopSec", "WatchdogSec", "RestartSec", "RestartMaxDelaySec",
            "StartLimitInterval", "StartLimitIntervalSec":
            ForeignTime.systemd(value) == nil
        case "Nice": isNoNumber(value, in: -20...19)
        case "OOMScoreAdjust": isNoNumber(value, in: -1000...1000)
        case "StartLimitBurst", "RestartSteps": isNoNumber(value, in: 0...Int(UInt32.max))
        case "UMask": isNoMode(value)
        case "NoNewPrivileges", "DynamicUser": !booleans.contains(value.lowercased())
        case "Type", "Restart": words[key]?.contains(value) == false
        case "StandardOutput", "StandardError":
            words["Output"]?.contains(value) == false
                && !["fd:", "file:", "append:", "truncate:"].contains(where: value.hasPrefix)
        case "MemoryMax", "MemoryLimit", "TasksMax":
            value != "infinity" && value.utf8.first.map { !digits.contains($0) } ?? true
        case "CPUQuota": !value.hasSuffix("%") || value.utf8.first.map { !digits.contains($0) } ?? true
        case let key where key.hasSuffix("DirectoryMode"): isNoMode(value)
        case let key where ConfigurationKey(rawValue: key)?.limitedResource != nil:
            value.split(separator: ":", omittingEmptySubsequences: false).contains { part in
                part != "infinity" && part.utf8.first.map { !digits.contains($0) && !"+-".utf8.contains($0) } ?? true
            }
        default: false
        }
    }

    private static let digits: ClosedRange<UInt8> = 0x30...0x39

    /// Other bases than ten count as numbers.
    private static func isNoNumber(_ text: String, in range: ClosedRange<Int>) -> Bool {
        if let number = Int(text) { return !range.contains(number) }
        let rest = text.drop { "+-".contains($0) }.lowercased()
        return !["0x", "0b", "0o"].contains(where: rest.hasPrefix)
    }

    private static func isNoMode(_ text: String) -> Bool {
        Int(text, radix: 8).map { !(0...0o7777).contains($0) } ?? true
    }

    private static let booleans: Set<String> = [
        "0", "no", "n", "false", "f", "off", "1", "yes", "y", "true", "t", "on",
    ]

    private static let words: [String: Set<String>] = [
        "Type": ["simple", "exec", "forking", "oneshot", "dbus", "notify", "notify-reload", "idle"],
        "Restart": ["no", "always", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort"],
        "Output": [
            "inherit", "null", "tty", "syslog", "syslog+console", "kmsg", "kmsg+console", "journal", "journal+console",
            "socket",
        ],
    ]
}
