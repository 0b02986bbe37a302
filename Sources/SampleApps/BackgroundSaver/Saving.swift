// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// One attempt to save the library, which another thread can stop.
final class Saving: Sendable {
    private let options: Options
    private let deadline: DispatchTime
    private let stopped = DispatchSemaphore(value: 0)

    init(_ options: Options) {
        self.options = options
        deadline =
            switch options.behaviour {
            case .finish: .now() + options.seconds
            case .leak, .hoard, .lock: .now()
            case .expire, .overrun: .distantFuture
            }
    }

    /// Lets ``run(_:)`` finish; an app that overruns ignores this until it is in the foreground again.
    func stop() {
        stopped.signal()
    }

    /// Saves page after page, twenty a second.
    ///
    /// - Returns: How many pages were saved.
    func run(_ library: Library) -> Int {
        var page = 0
        repeat {
            page += 1
            library.save(page: page)
        } while stopped.wait(timeout: .now() + .milliseconds(50)) == .timedOut && DispatchTime.now() < deadline
        return page
    }
}
