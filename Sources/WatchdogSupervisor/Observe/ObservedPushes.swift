// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// Turns what systemd knows of a service's `WATCHDOG=1` into events for the policy.
///
/// systemd aborts the service when `WatchdogSec=` is exhausted. To capture it alive, its allowance here is shorter.
struct ObservedPushes: Sendable {
    /// What a change of the service means.
    enum Event: Hashable, Sendable {
        /// The service must send `WATCHDOG=1` this often; zero if it need not.
        case allowance(Duration)
        /// The service sent `WATCHDOG=1`.
        case pushed
    }

    private static let shortestPoll = Duration.milliseconds(50)
    /// The time between two checks of a service without `WatchdogSec=`.
    static let longestPoll = Duration.seconds(1)
    /// For the capture.
    private static let shortestMargin = Duration.milliseconds(500)

    private var allowance = Duration.zero
    private var last: Instant?

    /// Checks that something can show a hang.
    ///
    /// - Throws: ``RunError`` if the target neither is probed nor pushes.
    static func checkJudgeable(
        _ target: ObservedTarget, _ probe: ProbeSettings?, _ unit: ServiceUnit?
    ) throws(RunError) {
        guard probe == nil, unit?.watchdogInterval == nil else { return }
        let why =
            if case .service(let name) = target, unit != nil { "\(name) has no WatchdogSec=" } else {
                "it does not report"
            }
        throw .usage("cannot detect a hang of \(target.name): \(why); add a probe, such as tcp:127.0.0.1:80")
    }

    /// How often to look at a service.
    static func poll(_ unit: ServiceUnit?) -> Duration {
        guard let interval = unit?.watchdogInterval else { return longestPoll }
        return min(max(interval / 20, shortestPoll), longestPoll)
    }

    /// The allowance that ends before systemd's.
    ///
    /// A push is noticed late by at most one poll, and the deadline counts from then.
    static func allowance(within interval: Duration, poll: Duration) -> Duration {
        max(interval / 2, interval - max(interval / 8, shortestMargin) - poll)
    }

    /// The events since the last look, in order.
    mutating func events(in unit: ServiceUnit) -> [Event] {
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
