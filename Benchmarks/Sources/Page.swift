// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogVerdict

/// The one page that is printed, row by row as the values come.
struct Page {
    /// The project's goal: a median, and sometimes a 99th percentile.
    struct Goal {
        var median: Double
        var p99: Double?
    }

    private static let width = 80
    private static let labelWidth = 37
    private var reference: Double?
    private(set) var missedGoals = 0

    func headline(_ lines: [String]) {
        for line in lines { say(line) }
    }

    /// Begins a section; the first row of a section is what its other rows are compared with.
    mutating func begin(_ title: String, unit: String = "ms") {
        reference = nil
        say("")
        say(
            title.padded(to: Self.labelWidth) + "n".leftPadded(to: 4) + "median".leftPadded(to: 9)
                + "p99".leftPadded(to: 9) + "ratio".leftPadded(to: 7) + "  goal \(unit)")
    }

    /// One measurement.
    mutating func row(_ label: String, _ sample: Sample, goal: Goal? = nil) {
        guard let median = sample.median?.milliseconds, let p99 = sample.p99?.milliseconds else {
            return note("\(label): no value")
        }
        row(label, count: sample.count, median: median, p99: p99, goal: goal)
    }

    /// One measurement whose repetitions somebody else has counted, or one value.
    mutating func row(_ label: String, count: Int, median: Double, p99: Double? = nil, goal: Goal? = nil) {
        if reference == nil { reference = median }
        let ratio = reference.map { $0 > 0 ? (median / $0).decimal(median < 1_000 * $0 ? 2 : 0) : "" } ?? ""
        say(
            "  " + label.padded(to: Self.labelWidth - 2) + "\(count)".leftPadded(to: 4)
                + Self.value(median).leftPadded(to: 9) + (p99.map(Self.value) ?? "").leftPadded(to: 9)
                + ratio.leftPadded(to: 7) + (goal.map { "  " + judge($0, median, p99) } ?? ""))
    }

    /// Narrower than its column.
    private static func value(_ value: Double) -> String { value.decimal(value < 10_000 ? 3 : 0) }

    /// The number of right results, out of a total.
    mutating func row(_ label: String, right: Int, of all: Int, atLeast goal: Int? = nil) {
        if reference == nil { reference = Double(right) }
        let judgement = goal.map { "  \($0) \(right >= $0 ? "met" : "MISSED")" } ?? ""
        if let goal, right < goal { missedGoals += 1 }
        say(
            "  " + label.padded(to: Self.labelWidth - 2) + "\(all)".leftPadded(to: 4) + "\(right)".leftPadded(to: 9)
                + "".leftPadded(to: 16) + judgement)
    }

    /// A remark to the section, on as many lines as it needs.
    func note(_ text: String) {
        var line = " "
        for word in text.split(separator: " ") {
            if line.count + 1 + word.count > Self.width, line != " " {
                say(line)
                line = "   "
            }
            line += " \(word)"
        }
        say(line)
    }

    private mutating func judge(_ goal: Goal, _ median: Double, _ p99: Double?) -> String {
        let isMet = median <= goal.median && (goal.p99.map { limit in (p99 ?? .infinity) <= limit } ?? true)
        if !isMet { missedGoals += 1 }
        let limits = [goal.median, goal.p99].compactMap { $0.map(\.short) }.joined(separator: "/")
        return "\(limits) \(isMet ? "met" : "MISSED")"
    }

    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}

extension Double {
    /// With this many decimal places.
    func decimal(_ digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        let value = (magnitude * scale).rounded()
        guard value < 1e15 else { return "\(self)" }
        let whole = "\(Int64(value))"
        let text = String(repeating: "0", count: max(0, digits + 1 - whole.count)) + whole
        let fraction = digits > 0 ? "." + text.suffix(digits) : ""
        return (self < 0 && value > 0 ? "-" : "") + text.dropLast(digits) + fraction
    }

    /// Without a decimal point if none is needed.
    fileprivate var short: String {
        self == rounded() ? "\(Int64(self))" : "\(self)"
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
