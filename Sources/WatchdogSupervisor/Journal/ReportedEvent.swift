// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy

/// What a report is about; told when the report is written, or could not be.
protocol ReportedEvent {
    /// Its kind in the journal.
    var eventKind: EventKind { get }
    /// Whether it is told at every verbosity.
    var isToldWhenQuiet: Bool { get }
    /// What stands in the place of a report's path, before the reason.
    var absenceOfReport: String { get }

    /// As in "HangMain[42] *answered again after 3 s*".
    func words(in narration: Narration) -> String

    /// Adds what the journal is to know of it besides the report.
    func addFields(to entry: inout JournalEntry)
}

extension ReportedEvent {
    var isToldWhenQuiet: Bool { true }
    var absenceOfReport: String { "no report could be written" }
}

extension Incident: ReportedEvent {
    var eventKind: EventKind { isEnforced ? .killed : .reported }

    func words(in narration: Narration) -> String {
        "\(isEnforced ? "killed" : "reported"): \(narration.exhausted(by: self)) (\(code.hexadecimal))"
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

/// An end that nobody asked for.
extension Crash: ReportedEvent {
    var eventKind: EventKind { .crashed }
    // After many in one hour no more are written, which is no failure.
    var absenceOfReport: String { "no report" }

    func words(in narration: Narration) -> String { status.words }

    func addFields(to entry: inout JournalEntry) { entry.add(status) }
}
