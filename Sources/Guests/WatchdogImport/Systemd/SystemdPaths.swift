// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The folders in which systemd searches for units and their drop-ins: systemd.unit(5).
enum SystemdPaths {
    /// The template of an instance: `a@.service` for `a@1.service`; nil for any other unit.
    static func template(of unit: String) -> String? {
        guard let at = unit.firstIndex(of: "@"), let dot = unit.lastIndex(of: "."), unit.index(after: at) < dot else {
            return nil
        }
        return String(unit[...at]) + String(unit[dot...])
    }

    /// The instance of a template that has the same instance name as another unit; nil for a unit without one.
    static func instance(of template: String, like unit: String) -> String? {
        guard Self.template(of: unit) != nil, let start = unit.firstIndex(of: "@"), let end = unit.lastIndex(of: "."),
            let at = template.firstIndex(of: "@"), template[at...].hasPrefix("@.")
        else { return nil }
        return "\(template[..<at])\(unit[start..<end])\(template[at...].dropFirst())"
    }

    /// The folders of the system's units, in order of precedence.
    static let system = [
        "/etc/systemd/system/", "/run/systemd/system/", "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/",
        "/lib/systemd/system/",
    ]

    /// The machine's folders of users' units.
    static let user = [
        "/etc/systemd/user/", "/run/systemd/user/", "/usr/local/share/systemd/user/", "/usr/share/systemd/user/",
        "/usr/local/lib/systemd/user/", "/usr/lib/systemd/user/", "/lib/systemd/user/",
    ]

    /// The folders of a unit's drop-ins, in order of precedence.
    ///
    /// - Parameter own: the folder of the unit, with a trailing slash.
    static func folders(besides own: String) -> [String] {
        if system.contains(own) { return system }
        if user.contains(own) { return user }
        return [own]
    }

    /// The folders' names for drop-ins of a unit in one place, the most specific first: those of `a-b@1.service` are
    /// also in `a-b@.service.d`, `a-@1.service.d` and `a-@.service.d`.
    ///
    /// Without `service.d`, the folder for all units of the type, which comes after those of all places.
    static func dropIns(of unit: String) -> [String] {
        var names: [String] = []
        func add(_ unit: String) {
            guard !names.contains(unit + ".d"), let dot = unit.lastIndex(of: ".") else { return }
            names.append(unit + ".d")
            let stem = unit[..<dot]
            let suffix = unit[dot...]
            let prefix = stem.prefix { $0 != "@" }
            let instance = stem.dropFirst(prefix.count)
            if instance.count > 1 { add("\(prefix)@\(suffix)") }
            // Skip a trailing dash, which is from the previous step.
            guard let dash = prefix.dropLast().lastIndex(of: "-") else { return }
            add("\(prefix[...dash])\(instance)\(suffix)")
        }
        add(unit)
        return names
    }

    /// The folder whose drop-ins apply to all services.
    static let allServices = "service.d"
}
