// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// A descriptor that a loop watches; it stays open as long as the source lives.
public final class IOSource: EventSource {
    /// What a descriptor is ready for, or should be watched for.
    public struct Readiness: OptionSet, Sendable {
        /// Bits such as `EPOLLIN`.
        public let rawValue: UInt32

        /// Creates a set from bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Can be read, or is at end of file.
        public static let readable = Readiness(rawValue: UInt32(POLLIN))
        /// Can be written.
        public static let writable = Readiness(rawValue: UInt32(POLLOUT))
        /// Has an exceptional condition, such as a change in `cgroup.events`.
        public static let exceptional = Readiness(rawValue: UInt32(POLLPRI))
        /// Has an error; always watched.
        public static let failed = Readiness(rawValue: UInt32(POLLERR))
        /// The other end hung up; always watched.
        public static let hungUp = Readiness(rawValue: UInt32(POLLHUP))
    }

    /// The watched descriptor.
    public let descriptor: OwnedDescriptor
    private let handler: (Readiness) -> Void

    init(
        _ loop: EventLoop,
        _ descriptor: OwnedDescriptor,
        for readiness: Readiness,
        priority: EventLoop.Priority,
        handler: @escaping (Readiness) -> Void
    ) throws(LinuxError) {
        self.descriptor = descriptor
        self.handler = handler
        super.init()
        try adopt(priority: priority, "watch descriptor \(descriptor.number)") { source, userData in
            sd_event_add_io(
                loop.event, &source, descriptor.number, readiness.rawValue,
                { _, _, events, userData in
                    EventSource.serve(userData, as: IOSource.self) { $0.handler(Readiness(rawValue: events)) }
                },
                userData
            )
        }
    }

    /// Changes what the descriptor is watched for.
    public func watch(for readiness: Readiness) throws(LinuxError) {
        guard isActive else { return }
        try checkEvent(
            "watch descriptor \(descriptor.number)",
            sd_event_source_set_io_events(source, readiness.rawValue)
        )
    }
}

extension EventLoop {
    /// Calls the handler whenever the descriptor is ready for any of the given operations.
    ///
    /// The handler is called again until it has read, written or changed what the descriptor is watched for.
    public func onReady(
        _ descriptor: OwnedDescriptor,
        for readiness: IOSource.Readiness,
        priority: Priority = .normal,
        handler: @escaping (IOSource.Readiness) -> Void
    ) throws(LinuxError) -> IOSource {
        try IOSource(self, descriptor, for: readiness, priority: priority, handler: handler)
    }

    /// Calls the handler whenever the descriptor can be read or is at end of file.
    public func onReadable(
        _ descriptor: OwnedDescriptor,
        priority: Priority = .normal,
        handler: @escaping () -> Void
    ) throws(LinuxError) -> IOSource {
        try onReady(descriptor, for: .readable, priority: priority) { _ in handler() }
    }
}
