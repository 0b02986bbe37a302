// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogConfiguration
package import WatchdogLaunch
package import WatchdogLinux
import WatchdogPolicy

/// Translates systemd's record of a service's `WATCHDOG=1` into events for the policy.
///
/// systemd aborts the service when `WatchdogSec=` is exhausted. The allowance here is shorter, so that the process is
/// still alive for the capture.
package struct ObservedPushes: Sendable {
    /// An event of the service.
    package enum Event: Hashable, Sendable {
        /// The service must send `WATCHDOG=1` this often; zero if it need not send it.
        case allowance(Duration)
        /// The service sent `WATCHDOG=1`.
        case pushed
    }

    private static let shortestPoll = Duration.milliseconds(50)
    /// The time between two checks of a service without `WatchdogSec=`.
    static let longestPoll = Duration.seconds(1)
    /// The minimum time for the capture, before systemd's deadline.
    private static let shortestMargin = Duration.milliseconds(500)

    private var allowance = Duration.zero
    private var last: Instant?

    /// Checks that something can show a hang.
    ///
    /// - Throws: ``RunError`` if the target neither is probed nor pushes.
    package static func checkJudgeable(
        _ target: ObservedTarget, _ probe: ProbeSettings?, _ unit: ServiceUnit?
    ) throws(RunError) {
        guard probe == nil, unit?.watchdogInterval == nil else { return }
        let why =
            if case .service(let name) = target, unit != nil { "\(name) has no WatchdogSec=" } else {
                "it does not report"
            }
        throw .usage("cannot detect a hang of \(target.name): \(why); add a probe, such as tcp:127.0.0.1:80")
    }

    /// The polling interval for a service.
    static func poll(_ unit: ServiceUnit?) -> Duration {
        guard let interval = unit?.watchdogInterval else { return longestPoll }
        return min(max(interval / 20, shortestPoll), longestPoll)
    }

    /// The allowance that ends before systemd's.
    ///
    /// A push is noticed up to one poll late, and the deadline starts then.
    package static func allowance(within interval: Duration, poll: Duration) -> Duration {
        max(interval / 2, interval - max(interval / 8, shortestMargin) - poll)
    }

    /// The events since the last look, in order.
    package mutating func events(in unit: ServiceUnit) -> [Event] {
        guard let interval = unit.watchdogInterval, let push = unit.lastPush else {
            guard allowance > .zero else { return [] }
            self = ObservedPushes()
            return [.allowance(.zero)]
        }
        var events: [Event] = []
        let current = Self.allowance(within: interval, poll: Self.poll(unit))
        if current != allowance {
            allowance = current
            events.append(.allowance(current))
        }
        if last.map({ push > $0 }) ?? false { events.append(.pushed) }
        last = push
        return events
    }
}
