// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The cumulative histograms of ping answers of all apps, as the metrics have them.
public struct PingBuckets: Hashable, Sendable {
    private static let series = "watchdogd_app_ping_duration_seconds_bucket{"

    /// The answers within a limit.
    private struct Bucket: Hashable {
        /// In seconds; infinity for the last.
        let limit: Double
        let count: UInt64
    }

    private var counts: [String: [Bucket]] = [:]

    /// Reads the Prometheus text of all series; what is malformed is left out.
    public init(_ parts: [String]) {
        for part in parts {
            for line in part.split(separator: "\n") where line.hasPrefix(Self.series) {
                guard let end = line.lastIndex(of: "}"),
                    let count = UInt64(line[line.index(after: end)...].drop { $0 == " " }),
                    let app = Self.label("app", in: line), let text = Self.label("le", in: line),
                    let limit = text == "+Inf" ? Double.infinity : Double(text)
                else { continue }
                counts[app, default: []].append(Bucket(limit: limit, count: count))
            }
        }
        for app in counts.keys { counts[app]?.sort { $0.limit < $1.limit } }
    }

    private static func label(_ name: String, in line: Substring) -> String? {
        guard let start = line.range(of: name + "=\"") else { return nil }
        let value = line[start.upperBound...]
        return value.firstIndex(of: "\"").map { String(value[..<$0]) }
    }

    /// The upper limit of the bucket that holds the 99th percentile of what was answered since an earlier reading.
    ///
    /// - Returns: nil if nothing was, or if it took longer than the last finite limit.
    public func percentile99(of app: String, since earlier: PingBuckets) -> Duration? {
        let before = earlier.counts[app] ?? []
        let fresh = (counts[app] ?? []).map { bucket in
            let old = before.first { $0.limit == bucket.limit }?.count ?? 0
            // A daemon that was restarted counts from zero again.
            return Bucket(limit: bucket.limit, count: bucket.count >= old ? bucket.count - old : bucket.count)
        }
        guard let total = fresh.last?.count, total > 0 else { return nil }
        let rank = (total * 99 + 99) / 100
        guard let limit = fresh.first(where: { $0.count >= rank })?.limit, limit.isFinite, limit < 1e9 else {
            return nil
        }
        return .nanoseconds(Int64(limit * 1e9))
    }
}

extension Substring {
    /// The first occurrence of a text.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
