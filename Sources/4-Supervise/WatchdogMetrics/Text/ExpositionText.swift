// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Writes series in the Prometheus text format, version 0.0.4.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
public struct ExpositionText: ~Copyable {
    /// The content type of the format.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private var pen: BytePen
    private var name = ""

    /// Creates an empty text.
    ///
    /// - Parameter capacity: the expected number of bytes.
    init(capacity: Int) {
        pen = BytePen(capacity: capacity)
    }

    /// The text, as UTF-8.
    consuming func finish() -> [UInt8] { pen.finish() }

    // MARK: - Families

    /// Begins a family; all its series must follow before the next one begins.
    mutating func begin(_ family: MetricFamily) {
        name = family.name
        write("# HELP \(family.name) \(Self.escaped(family.help))\n# TYPE \(family.name) \(family.kind)\n")
    }

    /// Writes a series of the current family.
    mutating func add(_ labels: MetricLabels = .none, count value: Int) {
        add(SeriesPattern(name, isLabeled: false, labels), .none, count: value)
    }

    /// Writes a series of the current family whose unit is seconds.
    mutating func add(_ labels: MetricLabels = .none, time value: Duration) {
        add(SeriesPattern(name, isLabeled: false, labels), .none, time: value)
    }

    /// Writes the buckets, the sum and the count of a histogram.
    mutating func add(histogram: FixedHistogram) {
        add(HistogramPattern(name, isLabeled: false, histogram.bounds), .none, histogram)
    }

    // MARK: - Patterns

    /// Writes a series.
    ///
    /// - Parameter labels: the labels of the app, used if the pattern is labeled.
    mutating func add(_ series: SeriesPattern, _ labels: MetricLabels, count value: Int) {
        head(series, labels)
        pen.write(value)
        pen.write(UInt8(ascii: "\n"))
    }

    /// Writes a series whose unit is seconds.
    mutating func add(_ series: SeriesPattern, _ labels: MetricLabels, time value: Duration) {
        head(series, labels)
        pen.write(value)
        pen.write(UInt8(ascii: "\n"))
    }

    /// Writes a series for each pattern.
    ///
    /// The hot path: a thousand apps have more than a hundred thousand lines, nearly all of them with a single digit.
    ///
    /// - Parameter value: of the series with this number.
    mutating func add(_ series: SeriesPatterns, _ labels: MetricLabels, count value: (Int) -> Int) {
        let lines = series.lines
        guard let first = lines.first else { return }
        pen.reserve(series.text.count + lines.count * (labels.bytes.count + BytePen.mostDigits))
        series.text.withUnsafeBufferPointer { text in
            labels.bytes.withUnsafeBufferPointer { labels in
                pen.write(text, from: 0, to: first.labels)
                for index in lines.indices {
                    let line = lines[index]
                    // Up to the labels of the next line.
                    let end = index + 1 < lines.count ? lines[index + 1].labels : text.count
                    let count = value(index)
                    pen.write(labels, from: 0, to: labels.count)
                    if (0..<10).contains(count) {
                        pen.write(text, from: line.labels, to: end)
                        pen.replace(at: end - line.value, by: UInt8(ascii: "0") + UInt8(count))
                    } else {
                        pen.write(text, from: line.labels, to: line.value)
                        pen.write(count)
                        pen.write(text, from: line.value + 1, to: end)
                    }
                }
            }
        }
    }

    /// Writes the series of a histogram.
    mutating func add(_ pattern: HistogramPattern, _ labels: MetricLabels, _ histogram: FixedHistogram) {
        guard histogram.count > 0 else { return add(pattern.empty, labels) { _ in 0 } }
        let buckets = histogram.buckets
        var total = 0
        add(pattern.buckets, labels) { index in
            total += buckets[index]
            return total
        }
        add(pattern.sum, labels, time: histogram.sum)
        add(pattern.count, labels, count: total)
    }

    /// Writes what precedes the value, and makes room for that.
    private mutating func head(_ series: SeriesPattern, _ labels: MetricLabels) {
        pen.reserve(series.front.count + labels.bytes.count + series.back.count + BytePen.longestTime + 1)
        pen.write(series.front)
        pen.write(labels.bytes)
        pen.write(series.back)
    }

    private mutating func write(_ text: String) {
        let bytes = Array(text.utf8)
        pen.reserve(bytes.count)
        pen.write(bytes)
    }

    /// Help texts have only two escapes: backslash and newline.
    private static func escaped(_ help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }
}

extension BytePen {
    /// The maximum number of characters of seconds with their fraction, or of an `Int`.
    static let longestTime = mostDigits + 10

    /// Writes seconds with up to nine digits of the fraction, without trailing zeros.
    mutating func write(_ value: Duration) {
        guard value != .zero else { return write(UInt8(ascii: "0")) }
        let nanoseconds = value.nanoseconds
        if nanoseconds < 0 { write(UInt8(ascii: "-")) }
        let (seconds, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        write(magnitude: UInt(seconds), width: 1)
        guard rest > 0 else { return }
        var fraction = rest
        var width = 9
        while fraction % 10 == 0 {
            fraction /= 10
            width -= 1
        }
        write(UInt8(ascii: "."))
        write(magnitude: UInt(fraction), width: width)
    }
}
