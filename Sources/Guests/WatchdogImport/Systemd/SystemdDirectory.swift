// SPDX-License-Identifier: Apache-2.0

/// The folders that systemd creates for a service: "SANDBOXING" in systemd.exec(5).
enum SystemdDirectory: String, CaseIterable {
    case runtime = "RuntimeDirectory"
    case state = "StateDirectory"
    case cache = "CacheDirectory"
    case logs = "LogsDirectory"
    case configuration = "ConfigurationDirectory"

    /// The environment variable with the paths.
    var variable: String {
        switch self {
        case .runtime: "RUNTIME_DIRECTORY"
        case .state: "STATE_DIRECTORY"
        case .cache: "CACHE_DIRECTORY"
        case .logs: "LOGS_DIRECTORY"
        case .configuration: "CONFIGURATION_DIRECTORY"
        }
    }

    /// The parent folder, with the specifiers of app files.
    func root(isOfUser: Bool) -> String {
        switch self {
        case .runtime: "%t"
        case .state: "%S"
        case .cache: "%C"
        case .logs: "%L"
        case .configuration: isOfUser ? "%h/.config" : "/etc"
        }
    }

    /// A command that creates a folder, as watchdogd's user.
    static func command(_ path: String, mode: String?, owner: String?, group: String?) -> String {
        // systemd does not set the owner of a configuration folder, but that is harmless.
        var words = ["+/usr/bin/install", "-d", "-m", mode ?? "0755"]
        if let owner { words += ["-o", owner] }
        if let group { words += ["-g", group] }
        return (words + [path]).joined(separator: " ")
    }
}
