// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// Waits for descriptors and tells each when it became readable, as seen right after poll(2) has returned.
final class Watcher {
    private var handlers: [Int32: (Instant) -> Void] = [:]

    /// Calls `handler` whenever the descriptor is readable or hung up, until ``ignore(_:)``.
    func watch(_ descriptor: Int32, _ handler: @escaping (Instant) -> Void) {
        handlers[descriptor] = handler
    }

    func ignore(_ descriptor: Int32) {
        handlers[descriptor] = nil
    }

    /// Serves descriptors until `isDone`.
    func run(for what: String, limit: Duration = .seconds(30), until isDone: () -> Bool) throws {
        let deadline = Instant.now() + limit
        while !isDone() {
            let left = deadline - .now()
            guard left > .zero else { throw Failure("\(what): nothing happened for \(limit)") }
            var entries = handlers.keys.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&entries, nfds_t(entries.count), Int32(left.milliseconds) + 1) > 0 else { continue }
            let now = Instant.now()
            for entry in entries where entry.revents != 0 { handlers[entry.fd]?(now) }
        }
    }
}

/// A benchmark that could not be run.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
