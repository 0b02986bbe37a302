// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Time spans in the syntax of other service managers.
enum ForeignTime: Equatable {
    case span(Duration)
    /// `infinity`, or 0 where that means the same.
    case never

    /// The longest imported allowance, which replaces an infinite one: watchdogd has no infinite allowances.
    static let longest = Duration.seconds(3_600)

    /// A span of systemd.time(7); a number without a unit is in `unit`.
    static func systemd(_ text: String, unit standard: String = "s") -> ForeignTime? {
        let bytes = Array(text.utf8)
        guard bytes.count <= 128 else { return nil }
        if text.trimmed == "infinity" { return .never }
        var total = Duration.zero
        var index = 0
        var parts = 0
        func skipBlanks() { while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 } }
        func take(while isPart: (UInt8) -> Bool) -> String {
            let start = index
            while index < bytes.count, isPart(bytes[index]) { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }
        skipBlanks()
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "+") { index += 1 }
            let number = take { (0x30...0x39).contains($0) || $0 == 0x2e }
            skipBlanks()
            let unit = take { !(0x30...0x39).contains($0) && $0 != 0x20 && $0 != 0x09 }
            skipBlanks()
            guard let part = part(number, unit.isEmpty ? standard : unit) else { return nil }
            total += part
            parts += 1
        }
        // The maximum of app files: TimeSpan.
        return parts > 0 && total <= .seconds(3_155_760_000) ? .span(total) : nil
    }

    private static func part(_ number: String, _ unit: String) -> Duration? {
        // The units that are longer than watchdogd's longest unit, in seconds: systemd.time(7).
        let length: Double? =
            switch unit {
            case "w", "week", "weeks": 604_800
            case "M", "month", "months": 2_629_800
            case "y", "year", "years": 31_557_600
            default: nil
            }
        let number = number.hasPrefix(".") ? "0\(number)" : number
        guard let length else { return try? TimeSpan.parse(number + unit) }
        guard let last = number.last, last != ".", let count = Double(number), count * length <= 3_155_760_000 else {
            return nil
        }
        return .seconds(count * length)
    }

    /// The span in the syntax of app files.
    var text: String {
        switch self {
        case .span(let span): TimeSpan.format(span)
        case .never: TimeSpan.format(Self.longest)
        }
    }
}
