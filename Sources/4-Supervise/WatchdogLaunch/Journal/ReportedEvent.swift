// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// The subject of a report; it is announced when the report was written or failed.
package protocol ReportedEvent {
    /// Its kind in the journal.
    var eventKind: EventKind { get }
    /// Whether it is announced at every verbosity.
    var isToldWhenQuiet: Bool { get }
    /// The text instead of a report's path, before the reason.
    var absenceOfReport: String { get }

    /// As in "HangMain[42] *answered again after 3 s*".
    func words(in narration: Narration) -> String

    /// What happened, who does not move, and the verdict; nothing is said twice.
    func sentences(in narration: Narration, _ report: ReportOutcome) -> [String]

    /// What is told when the report is written, to those who have heard of the event itself.
    func announcement(of report: ReportOutcome) -> String

    /// Adds the journal fields beyond those of the report.
    func addFields(to entry: inout JournalEntry)
}

extension ReportedEvent {
    package var isToldWhenQuiet: Bool { true }
    var absenceOfReport: String { "no report could be written" }

    func sentences(in narration: Narration, _ report: ReportOutcome) -> [String] {
        [words(in: narration), report.culprit, report.verdict.line].compactMap(\.self)
    }

    package func announcement(of report: ReportOutcome) -> String { report.line }
}

extension Incident: ReportedEvent {
    var eventKind: EventKind { isEnforced ? .killed : .reported }

    package func words(in narration: Narration) -> String {
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
    package var isToldWhenQuiet: Bool { false }

    package func words(in narration: Narration) -> String { "answered again after \(duration.brief)" }

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

    package func words(in narration: Narration) -> String { status.words }

    /// The verdict on an end says how it ended.
    func sentences(in narration: Narration, _ report: ReportOutcome) -> [String] {
        let verdict = report.verdict.line
        let core = if case .signaled(_, true) = status { " (core dumped)" } else { "" }
        return [verdict.prefix(1).lowercased() + verdict.dropFirst() + core]
    }

    package func announcement(of report: ReportOutcome) -> String {
        let known = "Exited unexpectedly with code "
        guard case .exited(let code) = status, report.line.hasPrefix("\(known)\(code)") else { return report.line }
        return "was not asked to exit" + report.line.dropFirst("\(known)\(code)".count)
    }

    func addFields(to entry: inout JournalEntry) { entry.add(status) }
}
