// SPDX-License-Identifier: Apache-2.0

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

    /// The times of the last reports of apps that have reached the limit, in seconds since 1970.
    private var full: [String: [Int64]] = [:]

    /// Whether an app is known to have reached its limit.
    func isReached(by app: String, at time: Int64) -> Bool {
        Self.isReached(full[app] ?? [], at: time)
    }

    /// Judges an app by the times of its reports in the store.
    mutating func isReached(by app: String, at time: Int64, reports: [Int64]) -> Bool {
        let recent = reports.filter { $0 >= time - Self.period }
        full = full.filter { Self.isReached($0.value, at: time) }
        guard Self.isReached(recent, at: time) else { return false }
        full[app] = Array(recent.sorted().suffix(Self.count))
        return true
    }

    private static func isReached(_ reports: [Int64], at time: Int64) -> Bool {
        reports.count { $0 >= time - period } >= count
    }
}
