// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// File names in a store: `APP-2026-11-21-002022.ips`, with `-2` and so on before the dot if the name is taken.
enum ReportFileName {
    /// The maximum number of bytes of an app's name, so that the date, number and punctuation fit into a file system's
    /// 255.
    private static let nameLength = 128

    static func make(app: String, time: WallTime, number: Int = 1) -> String {
        "\(sanitised(app))-\(time.fileStamp)\(number > 1 ? "-\(number)" : "").ips"
    }

    /// The name of the core file with the kept stacks of a report.
    static func core(of report: String) -> String { "\(report.dropLast(4)).core" }

    /// The report to which a core file belongs; nil if ``core(of:)`` could not have made the name.
    static func report(ofCore name: String) -> String? {
        guard name.hasSuffix(".core") else { return nil }
        let report = "\(name.dropLast(5)).ips"
        return isReport(report) ? report : nil
    }

    /// The app in a name that passes ``isReport(_:)``, as far as a file name can represent it.
    static func app(of name: String) -> String {
        var parts = name.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
        if let last = parts.last, last.count < 6 { parts.removeLast() }
        return parts.dropLast(4).joined(separator: "-")
    }

    /// The digits of the date and time in a name that passes ``isReport(_:)``, as one number: they sort by time.
    static func stamp(of name: String) -> UInt64 {
        var parts = name.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
        if let last = parts.last, last.count < 6 { parts.removeLast() }
        return UInt64(parts.suffix(4).joined()) ?? 0
    }

    /// The name of an incomplete report, which lists do not show.
    static func temporary(app: String, time: WallTime, token: String) -> String {
        ".\(make(app: app, time: time)).\(token).partial"
    }

    /// The name of the file that will replace a report.
    ///
    /// If that never happens, it is removed like other incomplete reports, unless a user chose the report's name.
    static func temporary(replacing name: String, token: String) -> String {
        ".\(name.prefix(200)).\(token).partial"
    }

    /// Whether ``make(app:time:number:)`` could have made the name; only such files are ever removed.
    static func isReport(_ name: String) -> Bool {
        guard name.utf8.count <= 255, name.hasSuffix(".ips") else { return false }
        var parts = name.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
        if let last = parts.last, (1...4).contains(last.count), parts.count > 5, isDigits(last) { parts.removeLast() }
        let lengths = [4, 2, 2, 6]
        let date = parts.suffix(lengths.count)
        return date.map(\.count) == lengths && date.allSatisfy(isDigits)
            && isSanitised(parts.dropLast(lengths.count).joined(separator: "-"))
    }

    /// Whether ``temporary(app:time:token:)`` or ``temporary(replacing:token:)`` could have made the name.
    static func isTemporary(_ name: String) -> Bool {
        guard name.hasPrefix("."), name.hasSuffix(".partial") else { return false }
        let stem = name.dropFirst().dropLast(8)
        guard let dot = stem.lastIndex(of: ".") else { return false }
        return isReport(String(stem[..<dot]))
    }

    /// Keeps letters, digits, `.`, `_` and `-`; the result is never hidden, empty or mistaken for an option.
    static func sanitised(_ app: String) -> String {
        var name = String(app.utf8.prefix(nameLength).map { isAllowed($0) ? Character(UnicodeScalar($0)) : "_" })
        if let first = name.first, first == "." || first == "-" { name = "_" + name.dropFirst() }
        return name.isEmpty ? "app" : name
    }

    private static func isSanitised(_ text: String) -> Bool {
        guard let first = text.first, first != ".", first != "-" else { return false }
        return text.utf8.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func isDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.allSatisfy(\.isASCIIDigit)
    }
}
