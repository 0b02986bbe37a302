// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// The subject of a report; it is announced when the report was written or failed.
protocol ReportedEvent {
    /// Its kind in the journal.
    var eventKind: EventKind { get }
    /// Whether it is announced at every verbosity.
    var isToldWhenQuiet: Bool { get }
    /// The text instead of a report's path, before the reason.
    var absenceOfReport: String { get }

    /// As in "HangMain[42] *answered again after 3 s*".
    func words(in narration: Narration) -> String

    /// Adds the journal fields beyond those of the report.
    func addFields(to entry: inout JournalEntry)
}

extension ReportedEvent {
    var isToldWhenQuiet: Bool { true }
    var absenceOfReport: String { "no report could be written" }
}

extension Incident: ReportedEvent {
    var eventKind: EventKind { isEnforced ? .killed : .reported }

    func words(in narration: Narration) -> String {
        "\(isEnforced ? "killed" : "reported"): \(narration.reason(of: self)) (\(code.hexadecimal))"
    }

    func addFields(to entry: inout JournalEntry) {
        entry.add("WATCHDOGD_EVENT", event.rawValue)
        entry.add("WATCHDOGD_CODE", code.hexadecimal)
        entry.add("WATCHDOGD_ALLOWANCE_USEC", "\(allowance.nanoseconds / 1_000)")
    }
}

/// A hang that ended by itself.
extension Hang: ReportedEvent {
    var eventKind: EventKind { .hangReported }
    var isToldWhenQuiet: Bool { false }

    func words(in narration: Narration) -> String { "answered again after \(duration.brief)" }

    func addFields(to entry: inout JournalEntry) {
        entry.add("WATCHDOGD_EVENT", event.rawValue)
        entry.add(duration: duration)
    }
}

/// An end that nobody requested.
extension Crash: ReportedEvent {
    var eventKind: EventKind { .crashed }
    // After several reports in an hour, watchdogd writes no more, which is not a failure.
    var absenceOfReport: String { "no report" }

    func words(in narration: Narration) -> String { status.words }

    func addFields(to entry: inout JournalEntry) { entry.add(status) }
}
