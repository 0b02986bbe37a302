// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The line of a series but for what differs between apps: rendered once for each family, used for each app.
struct SeriesPattern {
    /// `watchdogd_app_state{`, to which the labels of the app are added.
    let front: [UInt8]
    /// `,state="running"} `, to which the value is added.
    let back: [UInt8]

    /// Renders the line.
    ///
    /// - Parameters:
    ///   - name: the family's name, with the suffix of the series.
    ///   - isLabeled: whether the labels of an app come between front and back.
    ///   - labels: those that follow.
    init(_ name: String, isLabeled: Bool, _ labels: MetricLabels = .none) {
        let isBraced = isLabeled || !labels.bytes.isEmpty
        front = Array(name.utf8) + (isBraced ? [UInt8(ascii: "{")] : [])
        let comma = isLabeled && !labels.bytes.isEmpty ? [UInt8(ascii: ",")] : []
        back = comma + labels.bytes + (isBraced ? [UInt8(ascii: "}")] : []) + [UInt8(ascii: " ")]
    }
}

/// The lines of several series of an app, one after another.
struct SeriesPatterns {
    /// The front and the back of each, in turn.
    let text: [UInt8]
    /// Where each front and each back ends.
    let ends: [Int]

    var count: Int { ends.count / 2 }

    init(_ patterns: [SeriesPattern]) {
        let parts = patterns.flatMap { [$0.front, $0.back] }
        text = Array(parts.joined())
        var end = 0
        ends = parts.map { part in
            end += part.count
            return end
        }
    }
}

/// The lines of a histogram but for what differs between apps.
struct HistogramPattern {
    /// One for each bound, and one for `+Inf`.
    let buckets: SeriesPatterns
    let sum: SeriesPattern
    let count: SeriesPattern

    /// Renders the lines.
    ///
    /// - Parameters:
    ///   - name: the family's name.
    ///   - isLabeled: as for ``SeriesPattern``.
    ///   - bounds: of the histogram.
    ///   - labels: of all its series.
    init(_ name: String, isLabeled: Bool, _ bounds: [Duration], _ labels: MetricLabels = .none) {
        let values = bounds.map { bound in
            var text = ExpositionText()
            text.append(bound)
            return String(decoding: text.bytes, as: UTF8.self)
        }
        buckets = SeriesPatterns(
            (values + ["+Inf"]).map {
                SeriesPattern("\(name)_bucket", isLabeled: isLabeled, labels.with(MetricLabels(["le": $0])))
            })
        sum = SeriesPattern("\(name)_sum", isLabeled: isLabeled, labels)
        count = SeriesPattern("\(name)_count", isLabeled: isLabeled, labels)
    }
}
