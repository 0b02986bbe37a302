// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Where systemd looks for units and their drop-ins: systemd.unit(5).
enum SystemdPaths {
    /// The names of services in `Alias=`.
    static func aliases(in file: ConfigurationFile) -> [String] {
        UnitFile(file).settings.filter { $0.section == "Install" && $0.key == "Alias" }
            .flatMap { $0.value.split { $0 == " " || $0 == "\t" }.map(String.init) }
            .filter { $0.hasSuffix(".service") && !$0.contains("/") }
    }

    /// The folders of the system's units, the first first.
    static let system = [
        "/etc/systemd/system/", "/run/systemd/system/", "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/",
        "/lib/systemd/system/",
    ]

    /// The folders of users' units that belong to the machine.
    static let user = [
        "/etc/systemd/user/", "/run/systemd/user/", "/usr/local/share/systemd/user/", "/usr/share/systemd/user/",
        "/usr/local/lib/systemd/user/", "/usr/lib/systemd/user/", "/lib/systemd/user/",
    ]

    /// The folders in which drop-ins of a unit may be, the first first.
    ///
    /// - Parameter own: the folder of the unit, with a slash at its end.
    static func folders(besides own: String) -> [String] {
        if system.contains(own) { return system }
        if user.contains(own) { return user }
        return [own]
    }

    /// The folders' names for drop-ins of a unit in one place, the most specific first: those of `a-b@1.service` are also
    /// in `a-b@.service.d`, `a-@1.service.d` and `a-@.service.d`.
    ///
    /// The folder for all units of the type, `service.d`, is not among them: it comes after those of all places.
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
            // A dash at the very end has been cut to before.
            guard let dash = prefix.dropLast().lastIndex(of: "-") else { return }
            add("\(prefix[...dash])\(instance)\(suffix)")
        }
        add(unit)
        return names
    }

    /// The folder whose drop-ins apply to all services.
    static let allServices = "service.d"
}
