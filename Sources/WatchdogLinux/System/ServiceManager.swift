// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import Glibc

/// The service manager that started this process, if there is one: sd_notify(3), sd_listen_fds(3).
public enum ServiceManager {
    /// True when a service manager listens to what this process says of itself.
    public static var isListening: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// True when systemd itself executed this process as (a part of) a service.
    ///
    /// `INVOCATION_ID` would not tell: every descendant of a service inherits it, the shells of a terminal included.
    /// `SYSTEMD_EXEC_PID` names one process: systemd.exec(5), since version 248.
    public static var isParent: Bool {
        getenv("SYSTEMD_EXEC_PID").map { String(cString: $0) } == "\(getpid())"
    }

    /// Tells the service manager the state of this service.
    ///
    /// - Parameters:
    ///   - assignments: Such as `READY=1`, `STATUS=…`, `FDSTORE=1`, `FDNAME=…`.
    ///   - descriptors: Descriptors to go with it, for `FDSTORE=1`.
    /// - Returns: False when there is no service manager.
    @discardableResult
    public static func notify(_ assignments: [String], descriptors: [OwnedDescriptor] = []) throws(LinuxError) -> Bool {
        let numbers = descriptors.map(\.number)
        let result = sd_pid_notify_with_fds(
            0, 0, assignments.joined(separator: "\n"), numbers, UInt32(numbers.count)
        )
        return try checkEvent("notify the service manager", withExtendedLifetime(descriptors) { result }) > 0
    }

    /// Tells the service manager what this service is doing, if it listens and has room for it now.
    ///
    /// ``notify(_:descriptors:)`` waits for a service manager that does not read, and so do others that send to it.
    ///
    /// - Returns: False when there is no service manager, or it took nothing.
    @discardableResult
    public static func mention(status: String) -> Bool {
        guard let address = getenv("NOTIFY_SOCKET") else { return false }
        let bytes = Array("STATUS=\(status)".utf8)
        return wd_socket_send_to(address, bytes, bytes.count) == 0
    }

    /// A descriptor that the service manager passed to this process.
    public struct PassedDescriptor: Sendable {
        /// The name under which it was stored, or its socket unit's name.
        public let name: String
        /// The descriptor.
        public let descriptor: OwnedDescriptor
    }

    /// Takes over the descriptors that the service manager passed; a second call gives none.
    ///
    /// To be called before any other thread is created: removes `LISTEN_FDS` and its like from the environment.
    public static func takeDescriptors() throws(LinuxError) -> [PassedDescriptor] {
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
