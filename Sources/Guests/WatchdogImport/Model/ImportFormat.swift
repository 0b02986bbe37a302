// SPDX-License-Identifier: Apache-2.0

public import WatchdogConfiguration

/// The formats of files that can be imported; the raw value is the argument of `--format`.
public enum ImportFormat: String, Hashable, Sendable, CaseIterable {
    /// A systemd service unit with its drop-ins.
    case systemd
    /// supervisord's `[program:NAME]` sections.
    case supervisord
    /// A service folder of runit, s6 or s6-rc.
    case runit
    /// monit's `check process` stanzas.
    case monit
    /// The services of a compose file.
    case compose

    /// The format of a file, guessed from its name, or else from its first lines; nil if unknown.
    public static func guess(_ file: ConfigurationFile) -> ImportFormat? {
        let name = file.path.split(separator: "/").last.map(String.init) ?? ""
        if name.hasSuffix(".service") { return .systemd }
        if name.hasSuffix(".yml") || name.hasSuffix(".yaml") { return .compose }
        if name.hasPrefix("supervisord") || name.hasSuffix(".ini") { return .supervisord }
        if name == "monitrc" { return .monit }
        let text = String(decoding: file.contents.prefix(65_536), as: UTF8.self)
        for line in text.split(whereSeparator: \.isNewline).map(\.trimmed) {
            if line == "[Unit]" || line == "[Service]" { return .systemd }
            if line.hasPrefix("[program:") || line == "[supervisord]" { return .supervisord }
            if line.hasPrefix("check process ") || line.hasPrefix("set daemon ") { return .monit }
            if line == "services:" { return .compose }
        }
        return nil
    }
}
