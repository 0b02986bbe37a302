// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport

/// A list of reports for people or programs.
public enum ReportListing {
    /// The width of the text, one less than a terminal's usual 80 columns, so that no terminal wraps.
    private static let width = 79
    private static let gap = "  "
    private static let nameWidth = 12...20

    /// A table of at most 79 columns: beginning of the incident's identifier, date, app, pid, event, verdict.
    ///
    /// The rows keep the given order. Names and verdicts that do not fit end in `...`.
    public static func text(_ reports: [StoredReport]) -> String {
        guard !reports.isEmpty else { return "No reports.\n" }
        var rows = [["ID", "DATE", "APP", "PID", "EVENT", "VERDICT"]]
        rows += reports.map(cells)
        var widths = (0..<6).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let others = widths[0] + widths[1] + widths[3] + widths[4] + gap.count * 5
        // The verdict gets space before the name, because names usually differ at the beginning.
        let forName = min(max(width - others - widths[5], nameWidth.lowerBound), nameWidth.upperBound)
        widths[2] = min(widths[2], forName)
        widths[5] = max(3, min(widths[5], width - others - widths[2]))
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let cut = cell.singleLine(limit: widths[column])
                return column == 3 ? cut.alignedRight(widths[3]) : cut.alignedLeft(widths[column])
            }
            var line = cells.joined(separator: gap)
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    private static func cells(_ report: StoredReport) -> [String] {
        guard let metadata = report.metadata else {
            let date = String(report.modified.text(fractionDigits: 0).prefix(16))
            return ["-", date, report.name.singleLine(), "-", "-", "damaged"]
        }
        return [
            String(metadata.incidentID.singleLine().prefix(8)),
            String(metadata.timestamp.singleLine().prefix(16)),
            metadata.appName.singleLine(),
            metadata.linux.map { String($0.pid).singleLine(limit: 10) } ?? "-",
            metadata.linux?.event.singleLine(limit: 16) ?? "-",
            metadata.linux?.verdict.singleLine() ?? "-",
        ]
    }

    /// A JSON array with one object per report.
    public static func json(_ reports: [StoredReport]) -> String {
        JSONText.of(reports.map(Entry.init))
    }

    private struct Entry: Encodable {
        let incident: String?
        let file: String
        let path: String
        let size: Int64
        let timestamp: String?
        let app: String?
        let pid: Int?
        let event: String?
        let verdict: String?
        let fault: String?

        init(_ report: StoredReport) {
            let metadata = report.metadata
            incident = metadata?.incidentID
            file = report.name
            path = report.path
            size = report.size
            timestamp = metadata?.timestamp
            app = metadata?.appName
            pid = metadata?.linux?.pid
            event = metadata?.linux?.event
            verdict = metadata?.linux?.verdict
            fault = report.fault
        }
    }
}
