// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// The environment of measured programs: the necessary variables, without those that differ between shells.
///
/// The size of the environment alone moves the stack and changes page faults. It also keeps the secrets in a CI
/// service's variables out of results and baselines.
public enum MeasuredEnvironment {
    /// The variables to inherit, in addition to those that begin with `LC_`.
    private static let names: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "LD_LIBRARY_PATH",
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP",
        "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "DBUS_SESSION_BUS_ADDRESS",
    ]

    /// Inherits an environment's usual variables, and adds others.
    ///
    /// - Parameter additions: Names with values; a nil value inherits the variable if it is set.
    public static func make(
        from inherited: Environment, adding additions: [(name: String, value: String?)]
    ) -> Environment {
        var environment = Environment(
            entries: inherited.entries.filter { entry in
                guard let name = self.name(of: entry) else { return false }
                return names.contains(name) || name.hasPrefix("LC_")
            })
        for addition in additions {
            environment[addition.name] = addition.value ?? inherited[addition.name]
        }
        return environment
    }

    /// The variables as text.
    static func dictionary(_ environment: Environment) -> [String: String] {
        let names = environment.entries.compactMap(name(of:))
        return Dictionary(
            names.compactMap { name in environment[name].map { (name, $0) } }, uniquingKeysWith: { $1 })
    }

    private static func name(of entry: ByteString) -> String? {
        entry.bytes.firstIndex(of: UInt8(ascii: "=")).map { String(decoding: entry.bytes[..<$0], as: UTF8.self) }
    }
}
