// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Writes series in the Prometheus text format, version 0.0.4.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
public struct ExpositionText: Sendable {
    /// The content type of the format.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// What was written, as UTF-8.
    public private(set) var bytes: [UInt8] = []
    private var name: [UInt8] = []

    /// Creates an empty text.
    ///
    /// - Parameter capacity: how many bytes are expected.
    public init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// Begins a family; all its series must follow before the next one begins.
    public mutating func begin(_ family: MetricFamily) {
        name = Array(family.name.utf8)
        bytes += "# HELP \(family.name) \(Self.escaped(family.help))\n# TYPE \(family.name) \(family.kind)\n".utf8
    }

    /// Writes a series of the current family.
    public mutating func add(_ labels: MetricLabels = .none, _ more: MetricLabels = .none, count value: Int) {
        head("", labels, more)
        append(value)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes a series of the current family whose unit is seconds.
    public mutating func add(_ labels: MetricLabels = .none, _ more: MetricLabels = .none, time value: Duration) {
        head("", labels, more)
        append(value)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes the buckets, the sum and the count of a histogram.
    ///
    /// - Parameter bounds: the bounds as ``boundLabels(of:)`` renders them.
    public mutating func add(
        _ labels: MetricLabels = .none, histogram: FixedHistogram, bounds: [MetricLabels]
    ) {
        precondition(bounds.count == histogram.buckets.count, "each bucket needs its bound")
        var total = 0
        for (bound, count) in zip(bounds, histogram.buckets) {
            total += count
            head("_bucket", labels, bound)
            append(total)
            bytes.append(UInt8(ascii: "\n"))
        }
        head("_sum", labels, .none)
        append(histogram.sum)
        bytes.append(UInt8(ascii: "\n"))
        head("_count", labels, .none)
        append(total)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// `le="0.1"` … `le="+Inf"`.
    public static func boundLabels(of bounds: [Duration]) -> [MetricLabels] {
        bounds.map { bound in
            var text = ExpositionText()
            text.append(bound)
            return MetricLabels(["le": String(decoding: text.bytes, as: UTF8.self)])
        } + [MetricLabels(["le": "+Inf"])]
    }

    private mutating func head(_ suffix: StaticString, _ labels: MetricLabels, _ more: MetricLabels) {
        bytes += name
        suffix.withUTF8Buffer { bytes += $0 }
        if !labels.bytes.isEmpty || !more.bytes.isEmpty {
            bytes.append(UInt8(ascii: "{"))
            bytes += labels.bytes
            if !labels.bytes.isEmpty, !more.bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes += more.bytes
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: " "))
    }

    private mutating func append(_ value: Int) {
        if (0..<10).contains(value) {
            bytes.append(UInt8(ascii: "0") + UInt8(value))
        } else {
            bytes += String(value).utf8
        }
    }

    /// Whole seconds, and as many digits of the fraction as it has, at most nine.
    private mutating func append(_ value: Duration) {
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

    /// Help texts know two escapes.
    private static func escaped(_ help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }
}
