// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogReport

/// Counts reports by signature, without holding them.
public struct ReportTally: Sendable {
    private struct Count: Sendable {
        var incidents = 0
        var first: WallTime
        var last: WallTime
        var newest: (time: WallTime, incident: String)
        var culprit: (time: WallTime, words: String)?
        var folded: String?
    }

    private var counts: [Signature: Count] = [:]

    /// Creates a tally of nothing.
    public init() {}

    /// Counts a report, and the incidents that are only counted in it.
    public mutating func add(_ report: Report) {
        let time = WallTime(report.body.captureTime) ?? WallTime(report.metadata.timestamp) ?? WallTime(seconds: 0)
        let signature = Signature(of: report)
        add(signature, at: time, incident: report.metadata.incidentID)
        name(report, signature, at: time)
        guard let repeats = report.body.linux?.repeats, var count = counts[signature] else { return }
        count.incidents = count.incidents.addingSaturated(repeats.count)
        if let last = WallTime(repeats.last), last.since(count.last) > .zero { count.last = last }
        counts[signature] = count
    }

    /// Keeps the culprit of a report that is newer than those before; reports come newest first.
    private mutating func name(_ report: Report, _ signature: Signature, at time: WallTime) {
        if let known = counts[signature]?.culprit, time.since(known.time) <= .zero { return }
        guard let words = report.metadata.linux?.culprit ?? Explanation(of: report).culprit else { return }
        counts[signature]?.culprit = (time, words)
        counts[signature]?.folded = Self.folded(report)
    }

    /// `3 calls without names < lua_pcall < luaCallFunction`; nil if no call lacks one, or all do.
    private static func folded(_ report: Report) -> String? {
        guard let stack = report.decidingStack, let first = stack.named.first, first.function != nil else { return nil }
        let unnamed = stack.decisive.count { $0.number < first.number }
        guard unnamed > 0 else { return nil }
        var names: [String] = []
        for call in stack.named where names.last != call.name {
            names.append(call.name)
            if names.count == Signature.frameCount { break }
        }
        return ([Explanation.unnamedCalls(unnamed)] + names).joined(separator: " < ")
    }

    /// Counts an incident.
    public mutating func add(_ signature: Signature, at time: WallTime, incident: String) {
        var count = counts[signature] ?? Count(first: time, last: time, newest: (time, incident))
        count.incidents = count.incidents.addingSaturated(1)
        if time.since(count.first) < .zero { count.first = time }
        if time.since(count.last) > .zero { count.last = time }
        if WallTime.isNewer((time, incident), (count.newest.time, count.newest.incident)) {
            count.newest = (time, incident)
        }
        counts[signature] = count
    }

    /// The groups, the most frequent first; among equally frequent ones, the newest first.
    public var groups: [ReportGroup] {
        let groups = counts.map { signature, count in
            ReportGroup(
                signature: signature, count: count.incidents, first: count.first, last: count.last,
                newest: count.newest.incident, culprit: count.culprit?.words, folded: count.folded)
        }
        return groups.sorted {
            $0.count != $1.count ? $0.count > $1.count : WallTime.isNewer(($0.last, $0.newest), ($1.last, $1.newest))
        }
    }
}
