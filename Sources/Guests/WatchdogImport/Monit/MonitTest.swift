// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// An `if … then …` of monit.
struct MonitTest {
    private let statement: MonitFile.Statement
    private let times: MonitTimes
    /// The tokens between `if` and `then`.
    private let condition: ArraySlice<MonitToken>
    private let action: String

    init(_ statement: MonitFile.Statement, times: MonitTimes) {
        self.statement = statement
        self.times = times
        condition = statement.tokens.dropFirst().prefix { $0.keyword != "then" }
        action = statement.after("then")?.keyword ?? ""
    }

    /// `start` counts as a restart: in monit, both start a missing process.
    private var isRestart: Bool { action == "restart" || action == "start" }

    func put(into draft: inout AppDraft) {
        guard let first = condition.first else { return drop(&draft, "it tests nothing") }
        switch first.keyword {
        case _ where first.kind == .number: putLimit(&draft)
        case "failed": putProbe(&draft)
        case "succeeded", "passed", "recovered": drop(&draft, "a success is no failure: no setting acts on it")
        case "not", "exist", "nonexist": putExistence(&draft)
        case "changed":
            let isNew = condition.count > 1 && ["pid", "ppid"].contains(condition[condition.startIndex + 1].keyword)
            drop(&draft, isNew ? "the app is the process that watchdogd has launched" : Self.noCounterpart)
        case "memory", "totalmem": putMemory(&draft)
        case let word:
            drop(
                &draft,
                Self.resources.contains(word)
                    ? "watchdogd watches whether the app answers, not how much it uses" : Self.noCounterpart)
        }
        let other = statement.tokens.drop { $0.keyword != "else" }.drop { $0.keyword != "then" }.dropFirst().first
        if let other, other.keyword != "alert" {
            draft.note(
                .dropped, at: other.place,
                "else … \(other.text.singleLine(limit: 20)): nothing runs when an app recovers")
        }
    }

    private static let noCounterpart = "has no counterpart"

    private static let resources: Set<String> = [
        "cpu", "totalcpu", "children", "threads", "loadavg", "uptime", "disk", "read", "write", "filedescriptors",
        "swap",
    ]

    private func drop(_ draft: inout AppDraft, _ reason: String) {
        draft.note(.dropped, at: statement.place, "\(statement.shown): \(reason)")
    }

    private func isUnknown(_ token: MonitToken) -> String {
        "monit does not know \(Printable.quoted(token.text)) there"
    }

    // MARK: - Restarts

    private func putLimit(_ draft: inout AppDraft) {
        let words = Array(condition)
        guard words.count == 4, let count = words[0].count, words[1].keyword == "restart", let cycles = words[2].count,
            words[3].keyword == "cycle"
        else { return drop(&draft, "monit writes: if 3 restarts within 5 cycles then …") }
        guard ["timeout", "unmonitor", "stop"].contains(action) else {
            return drop(&draft, "AtLimit= either stops or keeps retrying")
        }
        guard draft.carry(.limit, String(count), of: statement.shown, at: statement.place) else { return }
        draft.set(.limitInterval, TimeSpan.format(times.cycle * max(1, min(cycles, 10_000))))
        draft.set(.atLimit, "stop")
    }

    /// Without such a test, monit starts a missing process.
    private func putExistence(_ draft: inout AppDraft) {
        let words = condition.map(\.keyword)
        let isGone = words.first == "nonexist" || words.starts(with: ["not", "exist"])
        guard isGone else { return drop(&draft, "an app that runs is no failure") }
        guard isRestart else {
            draft.set(.policy, "on-watchdog")
            return draft.note(
                .changed, at: statement.place,
                "\(statement.shown) became Policy=on-watchdog: only an app that hangs is restarted")
        }
        if let rate = MonitRate(Array(condition)), rate.count > 1 {
            draft.note(.changed, at: statement.place, "\(statement.shown): watchdogd restarts it as soon as it is gone")
        }
    }

    // MARK: - Probes

    private func putProbe(_ draft: inout AppDraft) {
        guard isRestart else {
            return drop(&draft, "watchdogd always kills and restarts an app whose probe fails")
        }
        guard !draft.has(.probe) else { return drop(&draft, "an app has one Probe=") }
        do throws(MonitConnection.Invalid) {
            let connection = try MonitConnection(condition.dropFirst())
            let target = try connection.target
            let value = UnitText.escapedSpecifiers(target)
            guard draft.carry(.probe, value, of: statement.shown, at: statement.place) else { return }
            put(connection, isHTTP: target.hasPrefix("http:"), &draft)
        } catch {
            drop(&draft, error.token.map(isUnknown) ?? error.reason)
        }
    }

    private func put(_ connection: MonitConnection, isHTTP: Bool, _ draft: inout AppDraft) {
        draft.carry(.probeInterval, TimeSpan.format(times.cycle), of: "set daemon", at: statement.place)
        let time = MonitTimes.text(connection.timeout ?? times.connection)
        draft.carry(.probeTimeout, time, of: "timeout \(time)", at: statement.place)
        let rate = connection.rate
        draft.carry(.probeThreshold, String(rate?.count ?? 1), of: statement.shown, at: statement.place)
        if let rate, rate.count != rate.cycles {
            draft.note(.changed, at: statement.place, "\(statement.shown): only failures in a row count")
        }
        var lacking = connection.lacking
        if isHTTP {
            if let content = connection.content { putBody(content, &draft) }
            if let status = connection.status { putStatus(status, &draft) }
            if let request = connection.request, !request.text.hasPrefix("/"), !request.text.isEmpty {
                draft.note(
                    .changed, at: request.place, "request \(Printable.quoted(request.text)) got a / at its start")
            }
        } else {
            if connection.content != nil { lacking.append("content") }
            if connection.status != nil { lacking.append("status") }
            if connection.request != nil { lacking.append("request") }
            if let name = connection.protocolName, name != "default" {
                draft.note(
                    .changed, at: statement.place,
                    "protocol \(name.singleLine(limit: 20)) became a probe that only connects")
            }
        }
        guard !lacking.isEmpty else { return }
        let words = Set(lacking).sorted().joined(separator: ", ")
        draft.note(.dropped, at: statement.place, "\(words): no probe has this; use Probe=exec:curl … if it matters")
    }

    private func putBody(_ content: MonitConnection.Comparison, _ draft: inout AppDraft) {
        let text = content.value.text
        let shown = "content \(content.mark) \(Printable.quoted(text))"
        // monit uses it as a regular expression.
        guard content.mark == "=", !text.contains(where: { ".*+?[](){}|^$\\".contains($0) }) else {
            return draft.note(
                .dropped, at: content.value.place,
                "\(shown): ProbeBody= is a text that must be there, not an expression")
        }
        draft.carry(.probeBody, text, of: shown, at: content.value.place)
    }

    private func putStatus(_ status: MonitConnection.Comparison, _ draft: inout AppDraft) {
        let shown = "status \(status.mark) \(status.value.text.singleLine(limit: 20))"
        guard let code = status.value.count, (100...599).contains(code) else {
            return draft.note(.dropped, at: status.value.place, "\(shown) is not a code from 100 to 599")
        }
        let below = code > 100 ? "100-\(code - 1)" : nil
        let above = code < 599 ? "\(code + 1)-599" : nil
        let codes: String? =
            switch status.mark {
            case "=": String(code)
            case ">=": "\(code)-599"
            case ">": above
            case "<=": "100-\(code)"
            case "<": below
            default: [below, above].compactMap(\.self).joined(separator: " ")
            }
        guard let codes else { return draft.note(.dropped, at: status.value.place, "\(shown) is true of no code") }
        draft.carry(.probeStatus, codes, of: shown, at: status.value.place)
    }

    // MARK: - Memory

    private func putMemory(_ draft: inout AppDraft) {
        let words = Array(condition)
        guard isRestart else {
            return drop(&draft, "watchdogd watches whether the app answers, not how much it uses")
        }
        guard words.count > 2, [">", ">="].contains(words[1].keyword) else {
            return drop(&draft, "MemoryMax= can only set an upper limit")
        }
        // `200 MB` is two words, but `200MB` is also valid.
        let number = words[2].text.prefix { $0.isNumber || $0 == "." }
        var rest = words[3...]
        let unit = number.count < words[2].text.count ? words[2].unit(after: number) : rest.first.map(\.keyword) ?? ""
        let hasUnit = ["%", "b", "kb", "mb", "gb"].contains(unit)
        if hasUnit, number.count == words[2].text.count { rest = rest.dropFirst() }
        if let next = rest.first, next.kind != .number {
            let isSecond =
                next.keyword == "memory" || next.keyword == "totalmem" || Self.resources.contains(next.keyword)
            return drop(&draft, isSecond ? "it tests several things at once" : isUnknown(next))
        }
        guard hasUnit || words[2].kind == .number, let size = Self.size(String(number), hasUnit ? unit : "b") else {
            return drop(&draft, "set the limit as a size with MemoryMax=")
        }
        guard !draft.has(.memoryMax) else { return drop(&draft, "an app has one MemoryMax=") }
        guard draft.carry(.memoryMax, size, of: statement.shown, at: statement.place) else { return }
        let whose = words[0].keyword == "totalmem" ? "" : ", for all processes together"
        draft.note(
            .changed, at: statement.place,
            "\(statement.shown) became MemoryMax=\(size): at once, and by the kernel\(whose)")
    }

    /// The size in the form of MemoryMax=: whole numbers and percentages.
    private static func size(_ number: String, _ unit: String) -> String? {
        guard let value = Double(number), value >= 0, value < 1_000_000_000_000 else { return nil }
        let isWhole = value == value.rounded()
        if unit == "%" { return isWhole ? "\(Int(value))%" : "\(number)%" }
        guard let power = ["b", "kb", "mb", "gb"].firstIndex(of: unit) else { return nil }
        let suffixes = ["", "K", "M", "G"]
        if isWhole { return "\(Int(value))\(suffixes[power])" }
        // 1.5 GB, in the next smaller unit.
        return power == 0 ? "\(Int(value.rounded()))" : "\(Int((value * 1024).rounded()))\(suffixes[power - 1])"
    }
}

/// The global times of monit, and those of a service.
struct MonitTimes {
    /// The time between two tests of a service, from `set daemon` and `every`; the default is that of Debian's monitrc.
    var cycle = Duration.seconds(120)
    /// The time limit of a connection: `networkTimeout`.
    var connection = Duration.seconds(5)
    /// The time limit of a start, if the file sets it: `startTimeout`.
    var start: Duration?

    /// `TIMEOUT: 30 seconds` of `set limits`.
    mutating func take(_ statement: MonitFile.Statement) {
        let tokens = statement.tokens
        for (index, token) in tokens.enumerated() where index + 3 < tokens.count && tokens[index + 1].keyword == ":" {
            guard let time = Self.span(tokens[index + 2], tokens[index + 3]) else { continue }
            if token.keyword == "networktimeout" { connection = time }
            if token.keyword == "starttimeout" { start = time }
        }
    }

    /// The time in seconds, for people.
    static func text(_ time: Duration) -> String {
        time.components.attoseconds == 0 ? "\(time.components.seconds)s" : TimeSpan.format(time)
    }

    /// `30 seconds`; limited to a day.
    static func span(_ number: MonitToken, _ unit: MonitToken) -> Duration? {
        guard let count = number.count, (1...86_400_000).contains(count) else { return nil }
        switch unit.keyword {
        case "second": return count <= 86_400 ? .seconds(count) : nil
        case "millisecond": return .milliseconds(count)
        default: return nil
        }
    }
}

/// `for 3 cycles`, or `2 times within 5 cycles`, at the end of a condition.
struct MonitRate {
    let count: Int
    let cycles: Int
    /// The number of its tokens.
    let length: Int

    init?(_ tokens: [MonitToken]) {
        guard tokens.last?.keyword == "cycle", let cycles = tokens.dropLast().last?.count else { return nil }
        let count = tokens.dropLast(2).last?.count
        self.count = count ?? cycles
        self.cycles = cycles
        length = count == nil ? 2 : 3
    }
}
