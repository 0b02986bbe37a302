// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The constant parts of a series' line, rendered once for each family and used for each app.
struct SeriesPattern {
    /// `watchdogd_app_state{`, to which the labels of the app are added.
    let front: [UInt8]
    /// `,state="running"} `, to which the value is added.
    let back: [UInt8]

    /// Renders the line.
    ///
    /// - Parameters:
    ///   - name: the family's name, with the suffix of the series.
    ///   - isLabeled: whether an app's labels are inserted between front and back.
    ///   - labels: the constant labels after them.
    init(_ name: String, isLabeled: Bool, _ labels: MetricLabels = .none) {
        let isBraced = isLabeled || !labels.bytes.isEmpty
        front = Array(name.utf8) + (isBraced ? [UInt8(ascii: "{")] : [])
        let comma = isLabeled && !labels.bytes.isEmpty ? [UInt8(ascii: ",")] : []
        back = comma + labels.bytes + (isBraced ? [UInt8(ascii: "}")] : []) + [UInt8(ascii: " ")]
    }
}

/// The lines of several series of an app, one after another.
struct SeriesPatterns {
    /// The front and the back of each line, alternating.
    let text: [UInt8]
    /// The end offset of each front and each back.
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

/// The constant parts of a histogram's lines.
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
    ///   - bounds: the bounds of the histogram.
    ///   - labels: the constant labels of all its series.
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
