// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Formats measured values.
enum FigureText {
    /// `942 µs`, `38.61 ms`, `1.234 s`.
    static func time(nanoseconds: Double) -> String { time(.nanoseconds(Int64(nanoseconds.rounded()))) }

    /// The same for a duration.
    static func time(_ duration: Duration) -> String { duration.figure(digits: 4) }

    /// `512 bytes`, `12.0 KiB`, `3.4 MiB`.
    static func bytes(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1024: "\(bytes) bytes"
        case ..<(1 << 20): decimal(Double(bytes) / 1024, digits: 1) + " KiB"
        case ..<(1 << 30): decimal(Double(bytes) / Double(1 << 20), digits: 1) + " MiB"
        default: decimal(Double(bytes) / Double(1 << 30), digits: 1) + " GiB"
        }
    }

    /// `941`, `38.6k`, `41.3M`, `2.07G`.
    static func count(_ count: Double) -> String {
        switch count {
        case ..<1e3: decimal(count, digits: 0)
        case ..<1e6: decimal(count / 1e3, digits: 1) + "k"
        case ..<1e9: decimal(count / 1e6, digits: 1) + "M"
        default: decimal(count / 1e9, digits: 2) + "G"
        }
    }

    /// A share: `31 %`.
    static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

    /// A change: `+10.2 %`.
    static func change(_ ratio: Double) -> String {
        let percent = (ratio - 1) * 100
        return (percent < 0 ? "−" : "+") + decimal(abs(percent), digits: 1) + " %"
    }

    /// A p: `0.0124`, `< 0.0001`.
    static func probability(_ p: Double) -> String { p < 0.0001 ? "< 0.0001" : "= " + decimal(p, digits: 4) }

    /// A number with a fixed number of fractional digits, rounded half away from zero; up to 10¹⁵.
    static func decimal(_ value: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
        guard value.isFinite, value.magnitude < 1e15 else { return "\(value)" }
        let scaled = Int((value.magnitude * Double(scale)).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(scaled)" }
        return "\(sign)\(scaled / scale).\((scaled % scale).padded(digits))"
    }
}
