// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import WatchdogBase

/// A service manager, asked over D-Bus: reads services, and asks for restarts.
///
/// Isolation: any thread. Every call may wait for the manager, at most two seconds per answer, so none belongs on a loop.
public struct ServiceBus: Sendable {
    /// Which service manager.
    public enum Manager: Hashable, Sendable {
        /// The machine's.
        case system
        /// The one of this user.
        case user
    }

    /// Why the manager did not answer as expected.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// "systemd does not answer: Connection timed out".
        public let description: String
    }

    /// How long one answer may take.
    static let limit = Duration.seconds(2)

    private static let destination = "org.freedesktop.systemd1"
    private static let unitInterface = "org.freedesktop.systemd1.Unit"
    private static let serviceInterface = "org.freedesktop.systemd1.Service"

    private let manager: Manager

    /// Names a manager; each call connects to it.
    ///
    /// A connection that is kept would have to be read: systemd sends every signal to each of its direct connections.
    public init(to manager: Manager) {
        self.manager = manager
    }

    /// The service with this name, loaded from its file if necessary.
    ///
    /// - Parameter name: complete: `nginx.service`.
    public func service(_ name: String) throws(Failure) -> ServiceUnit {
        let connection = try Connection(manager)
        let path = try connection.unit(name)
        func text(_ interface: String, _ member: String) throws(Failure) -> String {
            try connection.string(path, interface, member)
        }
        func number(_ member: String, _ type: UInt8) throws(Failure) -> UInt64 {
            try connection.number(path, Self.serviceInterface, member, type)
        }
        return ServiceUnit(
            name: try text(Self.unitInterface, "Id"), loadState: try text(Self.unitInterface, "LoadState"),
            activeState: try text(Self.unitInterface, "ActiveState"),
            mainProcess: UInt32(truncatingIfNeeded: try number("MainPID", UInt8(ascii: "u"))),
            cgroup: try text(Self.serviceInterface, "ControlGroup"),
            watchdogMicroseconds: try number("WatchdogUSec", UInt8(ascii: "t")),
            lastPushMicroseconds: try number("WatchdogTimestampMonotonic", UInt8(ascii: "t")),
            result: try text(Self.serviceInterface, "Result"))
    }

    /// Asks the manager to restart a service, as `systemctl restart` does; does not wait for the restart.
    public func restart(_ name: String) throws(Failure) {
        _ = try Connection(manager).call("RestartUnit", [name, "replace"]).get()
    }
}

extension ServiceBus {
    /// Closes the connection when it is released.
    private final class Connection {
        private let bus: OpaquePointer

        init(_ manager: Manager) throws(Failure) {
            var bus: OpaquePointer?
            var code = Self.openDirectly(manager, &bus)
            if code < 0 { code = manager == .system ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus) }
            guard code >= 0, let bus else { throw Self.unreachable(code) }
            sd_bus_set_method_call_timeout(bus, UInt64(clamping: ServiceBus.limit.wholeMicroseconds))
            self.bus = bus
        }

        deinit { sd_bus_close_unref(bus) }

        /// Connects to the manager's own socket, as systemctl(1) does: it needs no bus daemon, but root or the user.
        private static func openDirectly(_ manager: Manager, _ bus: inout OpaquePointer?) -> Int32 {
            let path =
                switch manager {
                case .system: "/run/systemd/private"
                case .user: Environment.inherited["XDG_RUNTIME_DIR"].map { "\($0)/systemd/private" } ?? ""
                }
            guard manager == .user || geteuid() == 0, access(path, F_OK) == 0 else { return -ENOENT }
            var new: OpaquePointer?
            var code = sd_bus_new(&new)
            guard code >= 0 else { return code }
            code = sd_bus_set_address(new, "unix:path=\(path)")
            if code >= 0 { code = sd_bus_start(new) }
            guard code >= 0 else {
                sd_bus_close_unref(new)
                return code
            }
            bus = new
            return code
        }

        /// The object of a unit.
        func unit(_ name: String) throws(Failure) -> String {
            let reply = try call("LoadUnit", [name]).get()
            var path: UnsafePointer<CChar>?
            let code = sd_bus_message_read_basic(reply.message, CChar(UInt8(ascii: "o")), &path)
            guard code > 0, let path else { throw Self.unreachable(code) }
            return String(cString: path)
        }

        /// Calls a method of the manager whose arguments are strings.
        func call(_ method: String, _ arguments: [String]) -> Result<Reply, Failure> {
            var message: OpaquePointer?
            var code = sd_bus_message_new_method_call(
                bus, &message, ServiceBus.destination, "/org/freedesktop/systemd1",
                "org.freedesktop.systemd1.Manager", method)
            defer { sd_bus_message_unref(message) }
            for argument in arguments where code >= 0 {
                code = argument.withCString { sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0) }
            }
            guard code >= 0 else { return .failure(Self.unreachable(code)) }
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            var reply: OpaquePointer?
            code = sd_bus_call(bus, message, 0, &error, &reply)
            guard code >= 0, let reply else { return .failure(Self.failure(code, error)) }
            return .success(Reply(reply))
        }

        func string(_ path: String, _ interface: String, _ member: String) throws(Failure) -> String {
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            var text: UnsafeMutablePointer<CChar>?
            let code = sd_bus_get_property_string(bus, ServiceBus.destination, path, interface, member, &error, &text)
            defer { free(text) }
            guard code >= 0, let text else { throw Self.failure(code, error) }
            return String(cString: text)
        }

        /// - Parameter type: `u` or `t`.
        func number(
            _ path: String, _ interface: String, _ member: String, _ type: UInt8
        ) throws(Failure) -> UInt64 {
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            // Little-endian or not, a `u` fills only its own four bytes.
            var wide: UInt64 = 0
            var narrow: UInt32 = 0
            let isWide = type == UInt8(ascii: "t")
            let code =
                isWide
                ? sd_bus_get_property_trivial(
                    bus, ServiceBus.destination, path, interface, member, &error, CChar(type), &wide)
                : sd_bus_get_property_trivial(
                    bus, ServiceBus.destination, path, interface, member, &error, CChar(type), &narrow)
            guard code >= 0 else { throw Self.failure(code, error) }
            return isWide ? wide : UInt64(narrow)
        }

        private static func failure(_ code: Int32, _ error: sd_bus_error) -> Failure {
            // The manager's own words, unless the connection itself failed.
            guard let message = error.message, ![ETIMEDOUT, ENOTCONN, ECONNRESET].contains(-code) else {
                return unreachable(code)
            }
            return Failure(description: String(cString: message))
        }

        private static func unreachable(_ code: Int32) -> Failure {
            Failure(description: "systemd does not answer: \(Errno(rawValue: -code))")
        }
    }

    /// An answer, released with this value.
    private final class Reply {
        let message: OpaquePointer
        init(_ message: OpaquePointer) { self.message = message }
        deinit { sd_bus_message_unref(message) }
    }
}
