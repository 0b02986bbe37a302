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
