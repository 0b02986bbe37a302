// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension Duration {
    /// Three digits and a unit, as in `12.3 ms`; from a thousand seconds on, two units: `16 min 40 s`.
    var shown: String {
        let microseconds = max(0, wholeMicroseconds)
        switch microseconds {
        case ..<1_000: return "\(microseconds) µs"
        case ..<999_500: return Self.threeDigits(microseconds, per: 1_000) + " ms"
        case ..<999_500_000: return Self.threeDigits(microseconds, per: 1_000_000) + " s"
        default: return rough
        }
    }

    private static func threeDigits(_ value: Int64, per unit: Int64) -> String {
        let rounded = { (scale: Int64) in (value * scale + unit / 2) / unit }
        if rounded(100) < 1_000 { return "\(rounded(100) / 100).\((rounded(100) % 100).padded(2))" }
        if rounded(10) < 1_000 { return "\(rounded(10) / 10).\(rounded(10) % 10)" }
        return "\(rounded(1))"
    }
}
