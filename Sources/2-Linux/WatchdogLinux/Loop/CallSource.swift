// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// A call that a loop schedules for itself.
public final class CallSource: EventSource {
    fileprivate let handler: () -> Void

    fileprivate init(handler: @escaping () -> Void) {
        self.handler = handler
        super.init()
    }

    /// Schedules the handler once more, after it was called.
    public func callAgain() {
        sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
    }

    fileprivate static let serve: sd_event_handler_t = { _, userData in
        EventSource.serve(userData, as: CallSource.self) { $0.handler() }
    }
}

extension EventLoop {
    /// Calls the handler once, when its priority's turn comes.
    public func soon(priority: Priority = .normal, handler: @escaping () -> Void) throws(LinuxError) -> CallSource {
        let call = CallSource(handler: handler)
        try call.adopt(priority: priority, "defer a call") { source, userData in
            sd_event_add_defer(event, &source, CallSource.serve, userData)
        }
        return call
    }

    /// Calls the handler after every wake-up in which an event was handled: the place to flush what was collected.
    public func afterEvents(
        priority: Priority = .normal,
        handler: @escaping () -> Void
    ) throws(LinuxError) -> CallSource {
        let call = CallSource(handler: handler)
        try call.adopt(priority: priority, "add a call after events") { source, userData in
            sd_event_add_post(event, &source, CallSource.serve, userData)
        }
        return call
    }
}
