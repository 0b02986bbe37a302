// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase

/// Limits the number of hooks: a crash storm must not start one for each crash.
///
/// Pure: time is passed in.
package struct HookLimit {
    /// The maximum number of an app's hooks within ``interval``.
    static let perApp = 5
    package static let interval = Duration.seconds(600)
    /// The maximum number of running and waiting hooks, of all apps.
    static let atOnce = 16

    package enum Answer: Equatable {
        /// The hook may run; `dropped` incidents of the app had no hook since its last one.
        case run(dropped: Int)
        /// The hook is dropped; `isFirst` for the first one in a row, which is the only one to be reported.
        case drop(isFirst: Bool)
    }

    private var starts: [String: PeriodLimit] = [:]
    private var dropped: [String: Int] = [:]

    /// Decides about a hook.
    ///
    /// - Parameter current: how many hooks run or wait now.
    package mutating func admit(_ app: String, current: Int, at now: Instant) -> Answer {
        var recent = starts[app] ?? PeriodLimit(Self.perApp, in: Self.interval)
        defer { starts[app] = recent.isIdle(at: now) ? nil : recent }
        guard current < Self.atOnce, recent.admit(at: now) else {
            let count = (dropped[app] ?? 0) + 1
            dropped[app] = count
            return .drop(isFirst: count == 1)
        }
        return .run(dropped: dropped.removeValue(forKey: app) ?? 0)
    }
}
