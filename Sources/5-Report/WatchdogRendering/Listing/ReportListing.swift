// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogReport

/// A list of reports for people or programs.
public enum ReportListing {
    /// The width of the text, one less than a terminal's usual 80 columns, so that no terminal wraps.
    public static let defaultWidth = 79

    /// How many reports are listed unless another number is wanted.
    public static let usualLimit = 500

    private static let gap = "  "
    /// The width from which a list of hosts has the column EVENT.
    private static let wide = 100

    private struct Column {
        let title: String
        /// The narrowest and the usual widest; nil if it is never cut for others.
        var limits: ClosedRange<Int>?
        var isRightAligned = false
        /// What the text means, which decides its color.
        var meaning: (StoredReport, ReportMetadata?) -> TextStyle.Meaning? = { _, _ in nil }
        /// The text for a report, with its metadata unless it is damaged.
        let cell: (StoredReport, ReportMetadata?) -> String
    }

    /// A table of at most `width` columns: beginning of the incident's identifier, date, app, pid, event, verdict.
    ///
    /// The rows keep the given order. Names and verdicts that do not fit end in `...`.
    ///
    /// - Parameters:
    ///   - showsHosts: whether there are the columns HOST and VERSION, in place of PID and, if the text is narrow, EVENT.
    ///   - showsUsers: whether there is the column UID: who sent the report.
    ///   - zone: the reader's time zone, which the heading of the dates names.
    ///   - style: whether parts are colored by their meaning; its width does not count.
    public static func text(
        _ reports: [StoredReport], width: Int = defaultWidth, showsHosts: Bool = false, showsUsers: Bool = false,
        at zone: LocalZone = .utc, in style: TextStyle = TextStyle()
    ) -> String {
        guard !reports.isEmpty else { return "No reports.\n" }
        let width = max(width, defaultWidth)
        let columns = columns(width: width, showsHosts: showsHosts, showsUsers: showsUsers, zone)
        let rows =
            [columns.map(\.title)]
            + reports.map { report in columns.map { $0.cell(report, report.metadata).singleLine() } }
        let widths = widths(of: columns, rows, width)
        return rows.enumerated().map { index, row in
            let report = index > 0 ? reports[index - 1] : nil
            let cells = row.indices.map { column in
                let cut = row[column].singleLine(limit: widths[column])
                let isLast = column == row.indices.last
                let cell =
                    columns[column].isRightAligned
                    ? cut.alignedRight(widths[column]) : isLast ? cut : cut.alignedLeft(widths[column])
                // Colors are added to cells that have their width already, so that columns stay aligned.
                return style(cell, report.map { columns[column].meaning($0, $0.metadata) } ?? .faint)
            }
            var line = cells.joined(separator: gap)
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    /// Kills and crashes are failures, hangs that ended need attention, captures are neither.
    private static func meaning(_ metadata: ReportMetadata?) -> TextStyle.Meaning? {
        switch metadata?.linux?.event {
        case "hang": .caution
        case "capture": nil
        case nil: metadata == nil ? .failure : nil
        default: .failure
        }
    }

    /// The verdict, which comes last, gets space before the names, because names usually differ at the beginning.
    private static func widths(of columns: [Column], _ rows: [[String]], _ width: Int) -> [Int] {
        var widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let names = columns.indices.filter { columns[$0].limits != nil }
        for name in names { widths[name] = min(widths[name], columns[name].limits?.upperBound ?? 0) }
        func excess() -> Int { widths.reduce(0, +) + gap.count * (widths.count - 1) - width }
        while excess() > 0 {
            let shrinkable = names.filter { widths[$0] > columns[$0].limits?.lowerBound ?? 0 }
            guard let widest = shrinkable.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
        }
        let verdict = widths.count - 1
        widths[verdict] = max(3, widths[verdict] - max(0, excess()))
        return widths
    }

    /// The date there; a time that cannot be read is shown as it stands.
    private static func date(_ report: StoredReport, _ zone: LocalZone) -> String {
        guard let text = report.metadata?.timestamp else { return String(zone.date(report.modified).prefix(16)) }
        return String((WallTime(text).map(zone.date) ?? text).prefix(16))
    }

    private static func columns(width: Int, showsHosts: Bool, showsUsers: Bool, _ zone: LocalZone) -> [Column] {
        let widest = max(20, width / 5)
        var columns = [
            Column(title: "ID") { String(($1?.incidentID ?? "-").prefix(8)) },
            Column(title: "DATE (\(zone.name))") { report, _ in date(report, zone) },
        ]
        if showsHosts { columns.append(Column(title: "HOST", limits: 10...widest) { report, _ in report.host ?? "-" }) }
        if showsUsers {
            columns.append(
                Column(title: "UID", isRightAligned: true) { report, _ in report.entry.map { "\($0.user)" } ?? "-" })
        }
        columns.append(
            Column(title: "APP", limits: 12...widest, meaning: { _, _ in .emphasis }) { $1?.appName ?? $0.name }
        )
        if showsHosts {
            columns.append(
                Column(title: "VERSION", limits: 8...widest) { _, metadata in metadata?.version ?? "-" })
        } else {
            columns.append(
                Column(title: "PID", isRightAligned: true) { _, metadata in
                    (metadata?.linux).map { String($0.pid).singleLine(limit: 10) } ?? "-"
                })
        }
        if !showsHosts || width >= wide {
            columns.append(
                Column(title: "EVENT", meaning: { meaning($1) }) {
                    $1?.linux.map { EventWords.omission($0.event).singleLine(limit: 16) } ?? "-"
                })
        }
        let verdict = Column(title: "VERDICT", meaning: { $1 == nil ? .failure : nil }) { _, metadata in
            metadata.map { Explanation.line($0) ?? "-" } ?? "damaged"
        }
        return columns + [verdict]
    }

    /// A JSON array with one object per report.
    public static func json(_ reports: [StoredReport]) -> String {
        JSONText.of(reports.map(Entry.init))
    }

    private struct Entry: Encodable {
        let incident: String?
        let file: String?
        let path: String?
        let size: Int64?
        let host: String?
        let cursor: String?
        let uid: UInt32?
        let timestamp: String?
        let app: String?
        let version: String?
        let pid: Int?
        let event: String?
        let verdict: String?
        let culprit: String?
        let fault: String?
        let omission: String?

        init(_ report: StoredReport) {
            let metadata = report.metadata
            incident = metadata?.incidentID
            let isFile = report.entry == nil
            file = isFile ? report.name : nil
            path = isFile ? report.path : report.entry?.path
            size = isFile ? report.size : nil
            host = report.host
            cursor = report.entry?.cursor
            uid = report.entry?.user
            timestamp = metadata?.timestamp
            app = metadata?.appName
            version = metadata?.version
            pid = metadata?.linux?.pid
            event = metadata?.linux?.event
            verdict = metadata?.linux?.verdict
            culprit = metadata?.linux?.culprit
            fault = report.fault
            omission = report.entry?.omission
        }
    }
}
