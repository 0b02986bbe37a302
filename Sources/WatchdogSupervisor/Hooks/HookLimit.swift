// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// How many hooks may run: a crash storm must not start one for each crash.
///
/// Pure: time is passed in.
struct HookLimit {
    /// An app's hooks within ``interval``.
    static let perApp = 5
    static let interval = Duration.seconds(600)
    /// Hooks that run or wait at the same time, of all apps.
    static let atOnce = 16

    enum Answer: Equatable {
        /// The hook may run; this many incidents of the app had none since its last one.
        case run(dropped: Int)
        /// The hook is dropped; `isFirst` after one that ran, so that this is reported once.
        case drop(isFirst: Bool)
    }

    private var starts: [String: [Instant]] = [:]
    private var dropped: [String: Int] = [:]

    /// Decides about a hook.
    ///
    /// - Parameter current: how many run or wait now.
    mutating func admit(_ app: String, current: Int, at now: Instant) -> Answer {
        // Hooks from before the interval do not count.
        var recent = (starts[app] ?? []).filter { now - $0 < Self.interval }
        defer { starts[app] = recent.isEmpty ? nil : recent }
        guard recent.count < Self.perApp, current < Self.atOnce else {
            let count = (dropped[app] ?? 0) + 1
            dropped[app] = count
            return .drop(isFirst: count == 1)
        }
        recent.append(now)
        return .run(dropped: dropped.removeValue(forKey: app) ?? 0)
    }
}
