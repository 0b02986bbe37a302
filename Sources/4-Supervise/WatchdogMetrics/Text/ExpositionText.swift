// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Writes series in the Prometheus text format, version 0.0.4.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
public struct ExpositionText: Sendable {
    /// The content type of the format.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The text so far, as UTF-8.
    public private(set) var bytes: [UInt8] = []
    private var name = ""

    /// Creates an empty text.
    ///
    /// - Parameter capacity: the expected number of bytes.
    public init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    // MARK: - Families

    /// Begins a family; all its series must follow before the next one begins.
    public mutating func begin(_ family: MetricFamily) {
        name = family.name
        bytes += "# HELP \(family.name) \(Self.escaped(family.help))\n# TYPE \(family.name) \(family.kind)\n".utf8
    }

    /// Writes a series of the current family.
    public mutating func add(_ labels: MetricLabels = .none, count value: Int) {
        add(SeriesPattern(name, isLabeled: false, labels), .none, count: value)
    }

    /// Writes a series of the current family whose unit is seconds.
    public mutating func add(_ labels: MetricLabels = .none, time value: Duration) {
        add(SeriesPattern(name, isLabeled: false, labels), .none, time: value)
    }

    /// Writes the buckets, the sum and the count of a histogram.
    public mutating func add(histogram: FixedHistogram) {
        add(HistogramPattern(name, isLabeled: false, histogram.bounds), .none, histogram)
    }

    // MARK: - Patterns

    /// Writes a series.
    ///
    /// - Parameter labels: the labels of the app, used if the pattern is labeled.
    mutating func add(_ series: SeriesPattern, _ labels: MetricLabels, count value: Int) {
        head(series, labels)
        append(value)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes a series whose unit is seconds.
    mutating func add(_ series: SeriesPattern, _ labels: MetricLabels, time value: Duration) {
        head(series, labels)
        append(value)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes a series for each pattern.
    ///
    /// The hot path: it writes one block per app and family, because a thousand apps have a hundred thousand lines.
    mutating func add(_ series: SeriesPatterns, _ labels: MetricLabels, counts: [Int]) {
        precondition(series.count == counts.count, "each series has its value")
        let room = series.text.count + counts.count * (labels.bytes.count + BytePen.mostDigits + 1)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { page in
            var pen = BytePen(page)
            series.text.withUnsafeBufferPointer { text in
                labels.bytes.withUnsafeBufferPointer { labels in
                    var start = 0
                    for index in counts.indices {
                        let (front, back) = (series.ends[2 * index], series.ends[2 * index + 1])
                        pen.write(UnsafeBufferPointer(rebasing: text[start..<front]))
                        pen.write(labels)
                        pen.write(UnsafeBufferPointer(rebasing: text[front..<back]))
                        pen.write(counts[index])
                        pen.write(UInt8(ascii: "\n"))
                        start = back
                    }
                }
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: page[..<pen.count]))
        }
    }

    /// Writes the series of a histogram.
    mutating func add(_ pattern: HistogramPattern, _ labels: MetricLabels, _ histogram: FixedHistogram) {
        var total = 0
        let totals = histogram.buckets.map { count in
            total += count
            return total
        }
        add(pattern.buckets, labels, counts: totals)
        add(pattern.sum, labels, time: histogram.sum)
        add(pattern.count, labels, count: total)
    }

    private mutating func head(_ series: SeriesPattern, _ labels: MetricLabels) {
        bytes += series.front
        bytes += labels.bytes
        bytes += series.back
    }

    // MARK: - Values

    private mutating func append(_ value: Int) {
        if (0..<10).contains(value) {
            bytes.append(UInt8(ascii: "0") + UInt8(value))
        } else {
            bytes += String(value).utf8
        }
    }

    /// Writes seconds with up to nine digits of the fraction, without trailing zeros.
    mutating func append(_ value: Duration) {
        let nanoseconds = value.nanoseconds
        if nanoseconds < 0 { bytes.append(UInt8(ascii: "-")) }
        let (seconds, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        append(Int(seconds))
        guard rest > 0 else { return }
        var fraction = rest
        var width = 9
        while fraction % 10 == 0 {
            fraction /= 10
            width -= 1
        }
        let digits = String(fraction).utf8
        bytes.append(UInt8(ascii: "."))
        bytes += repeatElement(UInt8(ascii: "0"), count: width - digits.count)
        bytes += digits
    }

    /// Help texts have only two escapes: backslash and newline.
    private static func escaped(_ help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }
}
