// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// Limits the reports of one fault, so that an app that fails again and again does not push all others out of the store.
///
/// A fault is recognized by its ``Signature``. Its first five incidents in a day have a report each; later ones are
/// counted in the newest of these reports.
struct RepeatLimit {
    /// How many reports one fault has in ``period``.
    static let count = 5
    static let period = Duration.seconds(24 * 3_600)
    /// How many faults are remembered; the one that occurred longest ago is forgotten first.
    static let faults = 256

    private struct Fault {
        var reports = PeriodLimit(RepeatLimit.count, in: RepeatLimit.period)
        var newest: String
        var seen: Instant
    }

    private var faults: [Signature: Fault] = [:]

    /// The path of the report in which another incident is counted; nil if it gets its own.
    mutating func report(counting signature: Signature, at now: Instant) -> String? {
        guard var fault = faults[signature] else { return nil }
        fault.seen = now
        faults[signature] = fault
        return fault.reports.isReached(at: now) ? fault.newest : nil
    }

    /// Records that an incident got its own report.
    mutating func wrote(_ path: String, _ signature: Signature, at now: Instant) {
        var fault = faults[signature] ?? Fault(newest: path, seen: now)
        fault.reports.record(at: now)
        (fault.newest, fault.seen) = (path, now)
        faults[signature] = fault
        guard faults.count > Self.faults, let oldest = faults.min(by: { $0.value.seen < $1.value.seen }) else { return }
        faults[oldest.key] = nil
    }
}
