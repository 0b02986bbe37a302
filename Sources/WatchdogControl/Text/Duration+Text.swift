// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension Duration {
    /// The largest unit: `3d`, `2h`, `5min`, `12s`.
    var coarse: String { units(most: 1) }

    /// The two largest units: `3d 4h`, `2h 5min`, `12s`.
    var rough: String { units(most: 2) }

    private func units(most: Int) -> String {
        var seconds = max(0, nanoseconds) / 1_000_000_000
        var parts: [String] = []
        for (name, length) in [("d", Int64(86_400)), ("h", 3_600), ("min", 60), ("s", 1)] {
            let count = seconds / length
            seconds %= length
            if count > 0 || !parts.isEmpty { parts.append(count > 0 ? "\(count)\(name)" : "") }
        }
        let text = parts.prefix(most).filter { !$0.isEmpty }.joined(separator: " ")
        return text.isEmpty ? "0s" : text
    }

    /// About three significant digits: `52 µs`, `2.35 ms`, `312 ms`, `20.00 s`, `2min 5s`.
    var measured: String {
        let nanoseconds = max(0, nanoseconds)
        switch nanoseconds {
        case ..<1_000_000: return "\(nanoseconds / 1_000) µs"
        case ..<9_995_000: return Self.hundredths((nanoseconds + 5_000) / 10_000) + " ms"
        case ..<999_500_000: return "\((nanoseconds + 500_000) / 1_000_000) ms"
        case ..<119_995_000_000: return Self.hundredths((nanoseconds + 5_000_000) / 10_000_000) + " s"
        default: return rough
        }
    }

    private static func hundredths(_ value: Int64) -> String {
        "\(value / 100).\(value % 100 < 10 ? "0" : "")\(value % 100)"
    }
}
