// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The cumulative histograms of answers to pings and probes of all apps, from the metrics.
public struct AnswerBuckets: Hashable, Sendable {
    /// The series, in order of preference: an app may have both, and its main loop's answers are more meaningful than
    /// those of its port.
    private static let series = ["ping", "probe"].map { "watchdogd_app_\($0)_duration_seconds_bucket{" }

    /// The answers within a limit.
    private struct Bucket: Hashable {
        /// The limit in seconds; infinity for the last one.
        let limit: Double
        let count: UInt64
    }

    /// The buckets by app, one dictionary for each series.
    private var counts = [[String: [Bucket]]](repeating: [:], count: series.count)

    /// Reads the Prometheus text of all series; malformed lines are skipped.
    public init(_ parts: [String]) {
        for part in parts {
            for line in part.split(separator: "\n") {
                guard let index = Self.series.firstIndex(where: { line.hasPrefix($0) }),
                    let end = line.lastIndex(of: "}"),
                    let count = UInt64(line[line.index(after: end)...].drop { $0 == " " }),
                    let app = Self.label("app", in: line), let text = Self.label("le", in: line),
                    let limit = text == "+Inf" ? Double.infinity : Double(text), limit >= 0
                else { continue }
                counts[index][app, default: []].append(Bucket(limit: limit, count: count))
            }
        }
        for index in counts.indices {
            for app in counts[index].keys { counts[index][app]?.sort { $0.limit < $1.limit } }
        }
    }

    private static func label(_ name: String, in line: Substring) -> String? {
        guard let start = line.firstRange(of: name + "=\"") else { return nil }
        let value = line[start.upperBound...]
        return value.firstIndex(of: "\"").map { String(value[..<$0]) }
    }

    /// The 99th percentile of the answers since an earlier reading.
    ///
    /// It is that of the pings, or that of the probes if the app has never answered a ping.
    ///
    /// - Returns: the upper limit of its bucket; nil without answers, or beyond the last finite limit.
    public func percentile99(of app: String, since earlier: AnswerBuckets) -> Duration? {
        for (now, before) in zip(counts, earlier.counts) {
            guard let buckets = now[app], let answers = buckets.last?.count, answers > 0 else { continue }
            let fresh = Self.fresh(buckets, since: before[app] ?? [])
            guard let total = fresh.last?.count, total > 0 else { return nil }
            return Self.percentile99(fresh, of: total)
        }
        return nil
    }

    private static func fresh(_ buckets: [Bucket], since earlier: [Bucket]) -> [Bucket] {
        buckets.map { bucket in
            let old = earlier.first { $0.limit == bucket.limit }?.count ?? 0
            // A restarted daemon counts from zero.
            return Bucket(limit: bucket.limit, count: bucket.count >= old ? bucket.count - old : bucket.count)
        }
    }

    private static func percentile99(_ buckets: [Bucket], of total: UInt64) -> Duration? {
        let rank = total - total / 100
        guard let limit = buckets.first(where: { $0.count >= rank })?.limit, limit.isFinite, limit < 1e9 else {
            return nil
        }
        return .nanoseconds(Int64(limit * 1e9))
    }
}
