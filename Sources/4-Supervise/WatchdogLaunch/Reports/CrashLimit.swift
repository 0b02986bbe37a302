// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Limits the crash reports of one app, so that an app that keeps crashing does not push the reports of others out of
/// the store: five in an hour.
///
/// The store is the record, also across restarts of watchdogd. An app that has reached its limit is remembered, because
/// to list the store takes longer than such an app takes to crash again.
struct CrashLimit {
    /// How many reports one app has in ``period``.
    static let count = 5
    /// In seconds, as the times of reports.
    static let period: Int64 = 3_600

    /// The last reports of apps that have reached the limit.
    private var full: [String: PeriodLimit] = [:]

    /// Whether an app is known to have reached its limit.
    func isReached(by app: String, at time: Int64) -> Bool {
        full[app]?.isReached(at: Self.instant(time)) ?? false
    }

    /// Judges an app by the times of its reports in the store.
    mutating func isReached(by app: String, at time: Int64, reports: [Int64]) -> Bool {
        let now = Self.instant(time)
        full = full.filter { $0.value.isReached(at: now) }
        var limit = PeriodLimit(Self.count, in: .seconds(Self.period))
        for report in reports.sorted() { limit.record(at: Self.instant(report)) }
        guard limit.isReached(at: now) else { return false }
        full[app] = limit
        return true
    }

    /// Seconds since 1970 as a place on a line of time; the clock may be set, and a report may have any time.
    private static func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }
}
