// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Later incidents with the same signature, which have no separate reports.
public struct RepeatDetails: Codable, Hashable, Sendable {
    /// The number of these incidents.
    public var count: Int
    /// The capture time of the last one, in the form of ``ReportBody/captureTime``.
    public var last: String
}

extension Report {
    /// Counts a later incident with the same signature in this report.
    public mutating func countRepeat(at time: WallTime) {
        let old = body.linux?.repeats
        set(RepeatDetails(count: (old?.count ?? 0) + 1, last: time.text(fractionDigits: 4)))
    }

    /// Merges the incidents that another version of this report counts.
    public mutating func takeRepeats(of other: Report) {
        if let repeats = other.body.linux?.repeats { set(repeats) }
    }

    private mutating func set(_ new: RepeatDetails) {
        let old = body.linux?.repeats
        body.linux?.repeats = new
        metadata.linux?.repeats = new.count
        var lines = body.applicationSpecificInformation?["watchdogd"] ?? []
        if let old { lines.removeAll { $0 == old.line } }
        // Keep the verdict as the first line.
        lines.insert(new.line, at: min(1, lines.count))
        body.applicationSpecificInformation?["watchdogd"] = lines
    }
}

extension RepeatDetails {
    /// `Repeated: 12 more incidents like this, the last at 2026-11-22 15:20:11; they have no report of their own`.
    fileprivate var line: String {
        let time = last.prefix { $0 != "." }
        return count == 1
            ? "Repeated: 1 more incident like this, at \(time); it has no report of its own"
            : "Repeated: \(count) more incidents like this, the last at \(time); they have no report of their own"
    }
}
