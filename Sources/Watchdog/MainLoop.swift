// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// The thread or queue of the app's main loop.
enum MainLoop {
    private static let mark = DispatchSpecificKey<Bool>()
    private static let thread = Locked<pthread_t?>(nil)

    /// True when the caller runs on the main loop.
    ///
    /// The first thread counts as the main queue until something else serves that, so that it holds for what an app
    /// does before `Watchdog.run()`.
    static var isCurrent: Bool {
        if let thread = thread.withLock({ $0 }) { return pthread_equal(thread, pthread_self()) != 0 }
        return DispatchQueue.getSpecific(key: mark) != nil || CurrentThread.numberUnlessFirst == nil
    }

    /// Makes the main queue the main loop.
    static func isMainQueue() {
        DispatchQueue.main.setSpecific(key: mark, value: true)
    }

    /// Makes the calling thread the main loop.
    static func isCurrentThread() {
        thread.withLock { $0 = pthread_self() }
    }
}

/// The kernel's view of the calling thread.
enum CurrentThread {
    /// The thread ID; nil on the process's first thread, and if /proc cannot be read.
    ///
    /// gettid(2) is not visible through the Glibc module; /proc/thread-self reads `PID/task/TID`, see proc(5).
    static var numberUnlessFirst: Int32? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer -> Int32? in
            guard let start = buffer.baseAddress else { return nil }
            let length = readlink("/proc/thread-self", start, buffer.count)
            guard length > 0 else { return nil }
            let target = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let parts = target.split(separator: "/")
            guard let process = parts.first, let thread = parts.last, process != thread else { return nil }
            return Int32(thread)
        }
    }
}
