// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogReport

/// Reports with the same signature.
public struct ReportGroup: Equatable, Sendable {
    /// The common signature.
    public let signature: Signature
    /// The number of incidents: of the reports, and of those that are only counted in one.
    public let count: Int
    /// When the first incident was captured.
    public let first: WallTime
    /// When the last incident was captured.
    public let last: WallTime
    /// The incident's ID in the last report.
    public let newest: String
    /// Who did not move and why, in a person's words, in the newest report that says so.
    public let culprit: String?
    /// The app's calls in that report, where those without names are only counted; nil if each has a name.
    let folded: String?

    /// Groups reports by signature, the most frequent first; among equally frequent ones, the newest first.
    public static func grouping(_ reports: [Report]) -> [ReportGroup] {
        var tally = ReportTally()
        for report in reports { tally.add(report) }
        return tally.groups
    }

    /// Three lines per group: count, times and signature; app, event, culprit and cause; the app's frames.
    ///
    /// They have as many columns as the style, but at least 79; without a terminal, nothing is cut. The heading names the reader's time zone.
    public static func text(
        _ groups: [ReportGroup], at zone: LocalZone = .utc, in style: TextStyle = TextStyle()
    ) -> String {
        guard !groups.isEmpty else { return "No reports.\n" }
        let columns = max(79, style.columns ?? .max)
        let width = max(5, groups.map { String($0.count).count }.max() ?? 5)
        let first = "FIRST (\(zone.name))".alignedLeft(16)
        let title = "\("COUNT".alignedRight(width))  \(first)  LAST              NEWEST    SIGNATURE"
        var text = style(title, .faint) + "\n"
        let indent = String(repeating: " ", count: width + 2)
        for group in groups {
            let dates = [group.first, group.last].map { String(zone.date($0).prefix(16)) }
            let newest = String(group.newest.singleLine().prefix(8)).alignedLeft(8)
            text += style(String(group.count).alignedRight(width), .emphasis)
            text += "  \(dates[0])  \(dates[1])  \(newest)  \(group.signature.id)\n"
            let signature = group.signature
            let what = [signature.app, EventWords.omission(signature.event), group.culprit, signature.cause]
                .compactMap(\.self).joined(separator: " · ")
            text += indent + style(what.singleLine(limit: columns - indent.count), .failure) + "\n"
            text += indent + (group.folded ?? group.signature.path).singleLine(limit: columns - indent.count) + "\n"
        }
        return text
    }

    /// A JSON array with one object per group.
    public static func json(_ groups: [ReportGroup]) -> String { JSONText.of(groups.map(Entry.init)) }

    private struct Entry: Encodable {
        let signature: String
        let app: String
        let event: String
        let cause: String
        let culprit: String?
        let frames: [String]
        let count: Int
        let first: String
        let last: String
        let newest: String

        init(_ group: ReportGroup) {
            signature = group.signature.id
            app = group.signature.app
            event = group.signature.event
            cause = group.signature.cause
            culprit = group.culprit
            frames = group.signature.frames
            count = group.count
            first = group.first.text(fractionDigits: 2)
            last = group.last.text(fractionDigits: 2)
            newest = group.newest
        }
    }
}
