// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The text of `watchdogd launches`: a table, the phases of an app, and a histogram of all launches.
public struct LaunchesText: Sendable {
    /// The terminal's width; nil without one: then nothing is cut, and bars are as long as on a usual terminal.
    public var columns: Int?
    /// Whether non-ASCII characters may be used.
    public var isUnicode: Bool
    /// Returns the reader's time zone at a time.
    public var zone: @Sendable (WallTime) -> LocalZone

    private static let usualColumns = 79
    private static let fewestColumns = 60
    private static let barColumns = 120

    /// Creates a style; the zone is that of the reader.
    public init(
        columns: Int? = 79, isUnicode: Bool = true,
        zone: @escaping @Sendable (WallTime) -> LocalZone = { _ in .utc }
    ) {
        self.columns = columns.map { max(Self.fewestColumns, $0) }
        self.isUnicode = isUnicode
        self.zone = zone
    }

    /// The text of a table, with a final newline.
    public func text(_ table: LaunchSummaryTable) -> String {
        guard let total = table.total else {
            return (table.app.map { "no launches of \($0.singleLine(limit: 64))" } ?? "no launches") + "\n"
        }
        var lines = [heading(table, total)]
        if let first = table.firstVersion, let last = table.lastVersion {
            let (first, last) = (first.text.singleLine(limit: 60), last.text.singleLine(limit: 60))
            lines += first == last ? ["version \(last)"] : ["first version: \(first)", "last version:  \(last)"]
        }
        lines += [""] + rows(table)
        let phases = table.phases.map { ($0.phase.fullTitle, $0.durations) }
        if !phases.isEmpty { lines += [""] + rows("phase", phases) }
        lines += versions(table.versionPhases)
        let moments = table.moments.map { ($0.moment.title, $0.durations) }
        if !moments.isEmpty { lines += [""] + rows("from the request to", moments) }
        let histogram = self.histogram(total.durations)
        if !histogram.isEmpty { lines += [""] + histogram }
        let text = lines.map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n") + "\n"
        return isUnicode ? text : text.replacing("µ", with: "u")
    }

    private func heading(_ table: LaunchSummaryTable, _ total: LaunchGroup) -> String {
        let name = table.app.map { "\($0.singleLine(limit: 64)): " } ?? ""
        let failures = total.failures > 0 ? ", \(total.failures) never ready" : ""
        let assumed = total.assumed > 0 ? ", \(total.assumed) assumed ready (not timed)" : ""
        let noun = total.count == 1 ? "launch" : "launches"
        let (first, last) = (date(total.first), date(total.last))
        let days = first == last ? last : "\(first) to \(last)"
        return "\(name)\(total.count) \(noun)\(failures)\(assumed), \(days) (\(zone(total.last).name))"
    }

    /// `2026-11-22`; the heading names the zone.
    private func date(_ time: WallTime) -> String { String(zone(time).date(time).prefix(10)) }

    // MARK: - The table

    private func rows(_ table: LaunchSummaryTable) -> [String] {
        // The columns for the numbers and the dates.
        let hasAssumed = table.groups.contains { $0.assumed > 0 }
        let numbers = (hasAssumed ? 6 : 5) * 10
        let all = columns ?? .max
        let room = all - numbers - 2 * 12
        let widest = table.groups.map { $0.label.singleLine(limit: 200).count }.max() ?? 0
        let showsDates = room >= min(widest, 20)
        let width = max(8, min(widest, showsDates ? room : all - numbers))
        let title = table.key == .kind ? "kind" : table.key.rawValue
        var lines = [
            line(
                title, ["count", "not ready"] + (hasAssumed ? ["assumed"] : []) + ["p50", "p90", "p99"],
                showsDates ? ["first", "last"] : [],
                width)
        ]
        for group in table.groups {
            let assumed = group.assumed == 0 ? "-" : "\(group.assumed)"
            let spans = [0.5, 0.9, 0.99].map { group.durations.quantile($0)?.figure() ?? "-" }
            lines.append(
                line(
                    group.label,
                    ["\(group.count)", group.failures == 0 ? "-" : "\(group.failures)"]
                        + (hasAssumed ? [assumed] : []) + spans,
                    showsDates ? [date(group.first), date(group.last)] : [], width))
        }
        return lines
    }

    private func rows(_ title: String, _ parts: [(title: String, durations: DurationBuckets)]) -> [String] {
        let width = max(title.count, parts.map(\.title.count).max() ?? 0)
        return [line(title, ["count", "p50", "p90"], [], width)]
            + parts.map { part in
                let spans = [0.5, 0.9].map { part.durations.quantile($0)?.figure() ?? "-" }
                return line(part.title, ["\(part.durations.count)"] + spans, [], width)
            }
    }

    /// The median of each phase in each version, side by side; nothing for a single version.
    private func versions(_ versions: [VersionPhases]) -> [String] {
        guard versions.count > 1 else { return [] }
        let all = LaunchPhaseName.allCases.filter { phase in
            versions.contains { $0.phases.contains { $0.phase == phase } }
        }
        let title = "p50 by version"
        let width = max(title.count, all.map(\.fullTitle.count).max() ?? 0)
        // The beginning of a build ID, or of a package's name.
        let names = versions.map { String($0.label.singleLine(limit: 200).prefix { $0 != " " }.prefix(9)) }
        return ["", line(title, names.map { isUnicode || $0.utf8.allSatisfy { $0 < 0x80 } ? $0 : "?" }, [], width)]
            + all.map { phase in
                let medians = versions.map { version in
                    version.phases.first { $0.phase == phase }?.durations.quantile(0.5)?.figure() ?? "-"
                }
                return line(phase.fullTitle, medians, [], width)
            }
    }

    private func line(_ label: String, _ numbers: [String], _ dates: [String], _ width: Int) -> String {
        let safe = label.singleLine(limit: 200)
        let cut = safe.count > width ? safe.prefix(width - 1) + (isUnicode ? "…" : "~") : safe[...]
        let blanks = String(repeating: " ", count: max(0, width - cut.count))
        return (isUnicode ? cut + blanks : Substring(cut.map { $0.isASCII ? $0 : "?" } + blanks))
            + numbers.map { $0.alignedRight(10) }.joined() + dates.map { $0.alignedRight(12) }.joined()
    }

    // MARK: - The histogram

    private func histogram(_ durations: DurationBuckets) -> [String] {
        let rows = DurationRows(durations).rows
        let largest = rows.map(\.count).max() ?? 0
        guard largest > 0 else { return [] }
        let countWidth = "\(largest)".count + 1
        let limits = rows.map { "\($0.from.figure()) to \($0.to.figure())" }
        let limitWidth = limits.map(\.count).max() ?? 0
        let width = min(Self.barColumns, (columns ?? Self.usualColumns) - limitWidth - countWidth - 3)
        return zip(rows, limits).map { row, limit in
            limit.alignedRight(limitWidth) + (isUnicode ? " │" : " |") + bar(row.count, of: largest, width: width)
                + (row.count > 0 ? " \(row.count)" : "")
        }
    }

    private func bar(_ count: Int, of largest: Int, width: Int) -> String {
        guard count > 0 else { return "" }
        let eighths = max(1, count * width * 8 / largest)
        guard isUnicode else { return String(repeating: "#", count: max(1, eighths / 8)) }
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        return String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    }
}
