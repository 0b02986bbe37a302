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
    /// A line in ``text``.
    struct Line {
        /// Where the labels of the app are inserted.
        let labels: Int
        /// Where the value is.
        let value: Int
    }

    /// The lines without the labels of an app, and with 0 as each value, which most series of most apps are.
    let text: [UInt8]
    let lines: [Line]

    init(_ patterns: [SeriesPattern]) {
        var text: [UInt8] = []
        lines = patterns.map { pattern in
            text += pattern.front
            let labels = text.count
            text += pattern.back
            let value = text.count
            text += "0\n".utf8
            return Line(labels: labels, value: value)
        }
        self.text = text
    }
}

/// The constant parts of a histogram's lines.
///
/// A class, because a struct would be copied for each app.
final class HistogramPattern {
    /// One for each bound, and one for `+Inf`.
    let buckets: SeriesPatterns
    let sum: SeriesPattern
    let count: SeriesPattern
    /// All of these, for a histogram that has recorded nothing.
    let empty: SeriesPatterns

    /// Renders the lines.
    ///
    /// - Parameters:
    ///   - name: the family's name.
    ///   - isLabeled: as for ``SeriesPattern``.
    ///   - bounds: the bounds of the histogram.
    ///   - labels: the constant labels of all its series.
    init(_ name: String, isLabeled: Bool, _ bounds: [Duration], _ labels: MetricLabels = .none) {
        let values = bounds.map { bound in
            var pen = BytePen()
            pen.write(bound)
            return String(decoding: pen.finish(), as: UTF8.self)
        }
        let lines = (values + ["+Inf"]).map {
            SeriesPattern("\(name)_bucket", isLabeled: isLabeled, labels.with(MetricLabels(["le": $0])))
        }
        buckets = SeriesPatterns(lines)
        sum = SeriesPattern("\(name)_sum", isLabeled: isLabeled, labels)
        count = SeriesPattern("\(name)_count", isLabeled: isLabeled, labels)
        empty = SeriesPatterns(lines + [sum, count])
    }
}
