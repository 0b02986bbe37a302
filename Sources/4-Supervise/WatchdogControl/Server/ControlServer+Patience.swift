// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

extension ControlServer {
    func deadline(of connection: ControlConnection) -> Instant? {
        if let throttledUntil = connection.throttledUntil { return throttledUntil }
        if let unreadSince = connection.unreadSince { return unreadSince + limits.unreadPatience }
        return connection.calls.isEmpty ? connection.lastSign + limits.silencePatience : nil
    }

    func armPatience(at instant: Instant?) {
        guard let instant, let patience, instant < patience.due ?? Instant(nanoseconds: .max) else { return }
        patience.arm(at: instant)
    }

    func losePatience() {
        let now = loop.now
        if let again = acceptAgainAt, again <= now {
            acceptAgainAt = nil
            do {
                try arrivals?.watch(for: .readable)
            } catch {
                notice(.failed(error), nil)
            }
        }
        for connection in connections.values {
            guard let deadline = deadline(of: connection), deadline <= now else { continue }
            if connection.throttledUntil != nil {
                connection.throttledUntil = nil
                enqueue(connection)
            } else if connection.unreadSince != nil {
                statistics.unread += 1
                notice(.unread, connection.peer)
                close(connection)
            } else {
                statistics.silent += 1
                notice(.silent, connection.peer)
                close(connection)
            }
        }
        armPatience(at: acceptAgainAt)
        for connection in connections.values { armPatience(at: deadline(of: connection)) }
    }
}
