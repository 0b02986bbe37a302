// SPDX-License-Identifier: Apache-2.0

import CSystemd
import WatchdogPolicy

/// Something that a loop serves until the source is cancelled or its last reference goes.
///
/// A source may be cancelled, released and replaced at any time, also by its own handler. A handler that captures the
/// owner of its source keeps both alive until ``cancel()``.
///
/// Isolation: belongs to its loop's thread.
public class EventSource {
    /// The sd-event source; nil when cancelled.
    private(set) var source: OpaquePointer?

    /// When it is served, of several that are ready.
    public private(set) var priority = EventLoop.Priority.normal

    init() {}

    deinit {
        sd_event_source_disable_unref(source)
    }

    /// Ends the source; its handler is not called again.
    public func cancel() {
        source = sd_event_source_disable_unref(source)
    }

    /// True until the source is cancelled.
    public var isActive: Bool { source != nil }

    /// Changes when it is served, of several that are ready.
    public func setPriority(_ priority: EventLoop.Priority) {
        guard isActive, priority != self.priority else { return }
        sd_event_source_set_priority(source, priority.rawValue)
        self.priority = priority
    }

    /// Lets at most `burst` events through in each interval; the rest waits, so that nobody starves the others.
    public func limitRate(interval: Duration, burst: UInt32) throws(LinuxError) {
        let microseconds = UInt64(max(interval.nanoseconds, 0)) / 1000
        try checkEvent("limit the rate of an event source", sd_event_source_set_ratelimit(source, microseconds, burst))
    }

    /// Takes over the source that `add` creates; its user data is this object.
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

    /// The object behind a callback's user data; it is kept alive while `body` runs, whatever its handler releases.
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
