// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// Selects reports from a list; nil criteria do not apply.
public struct ReportFilter: Equatable, Sendable {
    /// The app's name, or a pattern such as `web*`; case does not matter.
    public var app: String?
    /// What the app was watched for.
    public var event: String?
    /// A verdict's kind, or words in it or in what says who does not move: `blocked`, `futex`, `Python lock`.
    public var verdict: String?
    /// The earliest time.
    public var since: WallTime?
    /// The maximum number of reports; the newest are kept.
    public var limit: Int?

    /// Creates a filter.
    public init(
        app: String? = nil, event: String? = nil, verdict: String? = nil, since: WallTime? = nil, limit: Int? = nil
    ) {
        self.app = app
        self.event = event
        self.verdict = verdict
        self.since = since
        self.limit = limit
    }

    /// The matching reports, in the given order; the newest must come first.
    public func apply(to reports: [StoredReport]) -> [StoredReport] {
        let passing = reports.filter(passes)
        return limit.map { Array(passing.prefix(max(0, $0))) } ?? passing
    }

    /// A file whose first line cannot be read is matched only by its time.
    package func passes(_ report: StoredReport) -> Bool {
        let metadata = report.metadata
        if let app, !(metadata.map { Wildcard.selects($0.appName, by: app) } ?? false) { return false }
        guard admits(event: metadata?.linux?.event) else { return false }
        if let verdict {
            let words = metadata?.linux?.verdict.lowercased() ?? ""
            let culprit = metadata?.linux?.culprit?.lowercased() ?? ""
            let kind =
                words.hasPrefix("d state")
                ? Verdict.Kind.uninterruptible.rawValue
                : words.hasPrefix(Verdict.deadlock) ? Verdict.Kind.blocked.rawValue : ""
            let wanted = verdict.lowercased()
            guard words.contains(wanted) || culprit.contains(wanted) || kind == wanted else { return false }
        }
        guard let since else { return true }
        return report.time.since(since) >= .zero
    }

    /// Whether an event is the wanted one: by its name, `scene-update`, or as lists show it, `did not answer`.
    package func admits(event own: String?) -> Bool {
        guard let event else { return true }
        return own.map { $0 == event || EventWords.omission($0) == event } ?? false
    }

    /// Parses a start time: a span before now (`2h`), a date (`2026-11-20`), or a date and time (`2026-11-20 18:30`),
    /// in the time zone of `now`.
    ///
    /// - Returns: nil for anything else.
    public static func beginning(_ text: String, now: WallTime) -> WallTime? {
        if let span = try? TimeSpan.parse(text) {
            let whole = span.nanoseconds / 1_000_000_000
            return WallTime(seconds: now.seconds - whole, nanoseconds: now.nanoseconds, utcOffset: now.utcOffset)
        }
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "T" })
        guard (1...2).contains(parts.count) else { return nil }
        var clock = parts.count == 2 ? String(parts[1]) : "00:00:00"
        if clock.split(separator: ":").count == 2 { clock += ":00" }
        guard let local = WallTime("\(parts[0]) \(clock) +0000") else { return nil }
        return WallTime(seconds: local.seconds - Int64(now.utcOffset), utcOffset: now.utcOffset)
    }
}
