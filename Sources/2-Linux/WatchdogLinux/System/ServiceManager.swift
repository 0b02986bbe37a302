// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// The service manager that started this process, if any: sd_listen_fds(3), sd_watchdog_enabled(3).
///
/// ``ServiceNotifier`` sends it messages.
public enum ServiceManager {
    /// Whether a service manager listens for notifications from this process.
    public static var isListening: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// Whether systemd itself executed this process as a service or as part of one.
    ///
    /// `INVOCATION_ID` would not show it: every descendant of a service inherits it, including the shells in a
    /// terminal. `SYSTEMD_EXEC_PID` names one process: systemd.exec(5), since version 248.
    public static var isParent: Bool {
        getenv("SYSTEMD_EXEC_PID").map { String(cString: $0) } == "\(getpid())"
    }

    /// How often the service manager expects a sign of life from this process (`WatchdogSec=`); nil for never.
    public static var watchdogInterval: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// Whether the service manager accepts a name for stored descriptors unchanged: 1 to 255 printable ASCII
    /// characters, no colon.
    ///
    /// sd_notify(3), `FDNAME=`.
    public static func isStoreName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
    }

    /// A descriptor that the service manager passed to this process.
    public struct PassedDescriptor: Sendable {
        /// The name under which the descriptor was stored, or the name of its socket unit.
        public let name: String
        /// The descriptor.
        public let descriptor: OwnedDescriptor
    }

    /// Takes the descriptors that the service manager passed; a second call returns none.
    ///
    /// Call it before creating any thread: it removes `LISTEN_FDS` and the like from the environment.
    ///
    /// - Throws: if the variables are meant for this process but are invalid.
    public static func takeDescriptors() throws(LinuxError) -> [PassedDescriptor] {
        // No descriptors were passed, which sd_listen_fds(3) would treat as an error.
        if getenv("LISTEN_FDS").map({ String(cString: $0) }) == "0" { unsetenv("LISTEN_FDS") }
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = try checkEvent("receive descriptors", sd_listen_fds_with_names(1, &names))
        defer { free(names) }
        return (0..<count).map { index in
            let name = names?[Int(index)]
            defer { free(name) }
            return PassedDescriptor(
                name: name.map { String(cString: $0) }.flatMap { isStoreName($0) ? $0 : nil } ?? "unknown",
                descriptor: OwnedDescriptor(taking: SD_LISTEN_FDS_START + index)
            )
        }
    }
}
