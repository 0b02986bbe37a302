// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// The texts that the terminal output and the page share.
///
/// Names in them are not sanitized.
enum OrganizerWords {
    /// `2026-11-23`, in UTC, which the context states.
    static func date(_ seconds: Int64) -> String {
        String(WallTime(seconds: seconds).text(fractionDigits: 0).prefix(10))
    }

    /// The note about `others`.
    static let limitNote = "There were too many names to tell apart: 'others' counts the rest together."

    static func incidents(_ count: Int) -> String { count == 1 ? "1 incident" : "\(grouped(count)) incidents" }

    static func hosts(_ count: Int) -> String { count == 1 ? "1 host" : "\(grouped(count)) hosts" }

    /// `1,234,567`.
    static func grouped(_ count: Int) -> String {
        let digits = Array(String(count))
        return digits.indices.map { index in
            let rest = digits.count - index
            return (index > 0 && rest % 3 == 0 ? "," : "") + String(digits[index])
        }.joined()
    }

    /// `3.2`, `0.05`, `120`: two significant digits or all whole ones.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value < 1e15 else { return "-" }
        let places = value == 0 || value >= 9.95 ? 0 : value >= 0.995 ? 1 : value >= 0.0995 ? 2 : 3
        let scale = [1.0, 10, 100, 1_000][places]
        let scaled = Int((value * scale).rounded())
        let digits = scaled.padded(places + 1)
        return places == 0 ? digits : "\(digits.dropLast(places)).\(digits.suffix(places))"
    }

    static func hangRate(_ rate: OrganizerTable.HangRate?) -> String {
        switch rate {
        case .secondsPerHour(let rate, _): "\(number(rate)) s/h"
        case .hangsPerDay(let rate, _): "\(number(rate))/day"
        case nil: "-"
        }
    }

    /// The note that explains the hang rates of an app.
    static func hangRateNote(_ app: OrganizerTable.App) -> String? {
        let rates = app.versions.compactMap(\.hangRate)
        let hours = rates.contains { if case .secondsPerHour = $0 { true } else { false } }
        let days = rates.contains { if case .hangsPerDay = $0 { true } else { false } }
        return switch (hours, days) {
        case (true, true):
            "s/h: seconds of hangs per hour of running; /day: hangs per day, where it is not known how long the app ran"
        case (true, false): "s/h: seconds of hangs per hour of running"
        case (false, true): "/day: hangs per day; --history and --prometheus tell how long the app ran"
        case (false, false): nil
        }
    }

    /// The middle half of the launches: `180 ms to 250 ms`.
    static func spread(_ launches: OrganizerTable.Launches?) -> String {
        guard let low = launches?.p25, let high = launches?.p75 else { return "-" }
        return "\(low.brief) to \(high.brief)"
    }

    static func mark(_ signature: OrganizerTable.Signature) -> String {
        if signature.isNew { return "new" }
        return signature.increase.map { "\(number($0.ratio))x" } ?? ""
    }

    /// The description of a signature, without its calls.
    static func fault(_ signature: OrganizerTable.Signature) -> String {
        [EventWords.omission(signature.event), signature.cause].filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// The cause of ends, with what the app did not do if that is the cause.
    static func ending(_ end: OrganizerTable.Termination) -> String {
        [end.cause, EventWords.omission(end.event)].filter { !$0.isEmpty }.joined(separator: " · ")
    }

    static func calls(_ signature: OrganizerTable.Signature) -> String {
        signature.frames.isEmpty ? "no frame of the app" : signature.frames.joined(separator: " < ")
    }

    static func terminationTitle(_ app: OrganizerTable.App) -> String {
        app.hasHistory ? "Terminations" : "Terminations in reports"
    }

    /// The notes that explain the marks; empty without marks.
    static func markNote(_ table: OrganizerTable) -> [String] {
        let signatures = table.apps.flatMap(\.signatures)
        var notes: [String] = []
        if signatures.contains(where: \.isNew) { notes.append("new: not seen before the latest version.") }
        if signatures.contains(where: { $0.increase != nil }) {
            notes.append(
                "3x: three times as often as before, per hour. If nothing had changed, the chance of any such mark "
                    + "in this table would be at most 1 % (\(grouped(table.tests)) signatures tested).")
        }
        return notes
    }

    static func summary(_ table: OrganizerTable) -> String {
        let apps = table.apps.count + table.otherApps
        var text = "\(incidents(table.incidents)) of \(apps == 1 ? "1 app" : "\(grouped(apps)) apps")"
        let times = table.apps.flatMap(\.versions).flatMap { [$0.first, $0.last] }
        if let first = times.min(), let last = times.max() { text += ", \(date(first)) to \(date(last)) (UTC)" }
        if table.repetitions > 0 { text += "; \(grouped(table.repetitions)) found more than once, counted once" }
        return text
    }

    static func heading(_ app: OrganizerTable.App) -> String {
        app.incidents == 0
            ? "no incidents" : "\(incidents(app.incidents)) on \(hosts(app.hostCount))"
    }
}
