// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension Watchdog {
    /// Serves the main queue on the process's first thread, forever.
    ///
    /// Use it instead of `dispatchMain()`. On Linux, that function parks the first thread and moves the main queue to
    /// Dispatch's worker threads, and so does an `async` main. Pings are still answered, but a report's "main thread"
    /// is then the parked one, and the hang is on another. With this function, as with Foundation's
    /// `RunLoop.main.run()`, the main queue, the main actor and the main thread are the same. It also works without a
    /// supervisor.
    ///
    /// - Precondition: Called on the process's first thread, outside the main queue.
    public static func run() -> Never {
        precondition(CurrentThread.numberUnlessFirst == nil, "call Watchdog.run() on the process's first thread")
        let handle = mainQueueHandle()
        while true {
            let driver = mainQueueDriver
            var waits = [
                pollfd(fd: handle, events: Int16(POLLIN), revents: 0),
                pollfd(fd: driver?.detachChannel() ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waits, 2, -1) > 0 else { continue }
            // The queue's work runs first, so that the answer to a ping proves that it was done.
            if waits[0].revents != 0 {
                var wakeups: UInt64 = 0
                if read(handle, &wakeups, MemoryLayout.size(ofValue: wakeups)) > 0 { serveMainQueue(nil) }
            }
            if waits[1].revents != 0 { driver?.serviceChannel() }
        }
    }
}

// The two functions through which CoreFoundation's run loop serves the main queue: an eventfd(2) that is readable when
// the queue has work, and the call that does the work on the calling thread. Every libdispatch on Linux exports them
// for that purpose, see its private/queue_private.h; Swift's and C's calling conventions agree on such arguments.

@_silgen_name("_dispatch_get_main_queue_handle_4CF")
private func mainQueueHandle() -> Int32

@_silgen_name("_dispatch_main_queue_callback_4CF")
private func serveMainQueue(_ message: UnsafeMutableRawPointer?)
