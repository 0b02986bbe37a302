// SPDX-License-Identifier: Apache-2.0

import CSystemd
import WatchdogBase

/// Something that a loop serves until the source is canceled or its last reference is released.
///
/// A source may be canceled, released and replaced at any time, even by its own handler. A handler that captures the
/// owner of its source keeps both alive until ``cancel()``.
///
/// Isolation: belongs to its loop's thread.
public class EventSource {
    /// The sd-event source; nil once canceled.
    private(set) var source: OpaquePointer?

    /// The priority among several ready sources.
    public private(set) var priority = EventLoop.Priority.normal

    init() {}

    deinit {
        sd_event_source_disable_unref(source)
    }

    /// Cancels the source; its handler will not be called again.
    public func cancel() {
        source = sd_event_source_disable_unref(source)
    }

    /// Whether the source has not been canceled.
    public var isActive: Bool { source != nil }

    /// Changes the priority among several ready sources.
    public func setPriority(_ priority: EventLoop.Priority) {
        guard isActive, priority != self.priority else { return }
        sd_event_source_set_priority(source, priority.rawValue)
        self.priority = priority
    }

    /// Takes ownership of the source that `add` creates; the source's user data is this object.
    func adopt(
        priority: EventLoop.Priority,
        _ operation: @autoclosure () -> String,
        _ add: (_ source: inout OpaquePointer?, _ userData: UnsafeMutableRawPointer) -> Int32
    ) throws(LinuxError) {
        var created: OpaquePointer?
        // SAFETY: sd-event calls back only while the source is enabled, and deinit disables it.
        let userData = Unmanaged.passUnretained(self).toOpaque()
        try checkEvent(operation(), add(&created, userData))
        source = created
        try checkEvent("set the priority of an event source", sd_event_source_set_priority(created, priority.rawValue))
        self.priority = priority
    }

    /// Passes the object behind a callback's user data to `body`, and keeps it alive meanwhile, whatever its handler
    /// releases.
    static func serve<Source: EventSource>(
        _ userData: UnsafeMutableRawPointer?,
        as type: Source.Type,
        _ body: (Source) -> Void
    ) -> Int32 {
        guard let userData else { return 0 }
        let source = Unmanaged<Source>.fromOpaque(userData).takeUnretainedValue()
        withExtendedLifetime(source) { body(source) }
        return 0
    }
}
