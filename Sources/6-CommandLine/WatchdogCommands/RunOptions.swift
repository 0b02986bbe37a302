// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogPolicy
import WatchdogRun

/// Parses the options of `watchdogd run`; each error says what to write instead.
enum RunOptions {
    static func span(_ text: String) throws -> Duration {
        let duration: Duration
        do {
            duration = try TimeSpan.parse(text)
        } catch {
            throw ValidationError(error.description)
        }
        guard duration >= .milliseconds(1) else { throw ValidationError("use at least 1 ms") }
        return duration
    }

    private static func validated<Value, Failure: Error & CustomStringConvertible>(
        _ body: () throws(Failure) -> Value
    ) throws -> Value {
        do throws(Failure) {
            return try body()
        } catch {
            throw ValidationError(error.description)
        }
    }

    static func readiness(_ text: String) throws -> ReadinessChoice {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count > 1 ? parts[1] : nil) {
        case ("auto", nil): return .automatic
        case ("channel", nil): return .channel
        case ("notify", nil): return .notify
        case ("probe", nil): return .probe
        case ("none", nil): return .none
        case ("listen", let address?) where !address.isEmpty: return .listening(address)
        case ("exec", let command?) where !command.isEmpty: return .command(command)
        default: throw ValidationError("use auto, channel, notify, listen:ADDR, exec:CMD, probe or none")
        }
    }

    static func probe(_ text: String) throws -> ProbeSettings {
        try validated { () throws(ProbeSettings.SyntaxError) in try ProbeSettings(parsing: text) }
    }

    static func statuses(_ text: String) throws -> ProbeStatuses {
        do {
            return ProbeStatuses(ranges: try ProbeSettings.statuses(parsing: text))
        } catch {
            throw ValidationError(error.description)
        }
    }

    static func hangReports(_ text: String) throws -> HangReportChoice {
        if text == "off" { return .off }
        let threshold = try span(text)
        guard threshold >= .milliseconds(250) else {
            throw ValidationError("use at least 250 ms, or off")
        }
        return .from(threshold)
    }

    static func crashReports(_ text: String) throws -> CrashReportChoice {
        if text == "off" { return .off }
        guard let reports = CrashReports(rawValue: text) else { throw ValidationError("use all, signals or off") }
        return .some(reports)
    }

    static func enforcement(_ text: String) throws -> AppSpec.Enforcement {
        guard let enforcement = AppSpec.Enforcement(rawValue: text) else {
            throw ValidationError("use kill or report")
        }
        return enforcement
    }

    static func logFormat(_ text: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: text) else { throw ValidationError("use text or json") }
        return format
    }

    static func expectation(_ text: String) throws -> Expectation {
        try validated { () throws(Expectation.SyntaxError) in try Expectation(parsing: text) }
    }

    static func fault(_ text: String) throws -> Fault {
        try validated { () throws(Fault.SyntaxError) in try Fault(parsing: text) }
    }

    static func variable(_ text: String) throws -> (name: String, value: String) {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
            throw ValidationError("write NAME=VALUE")
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
}

/// The values of `--probe-status`.
struct ProbeStatuses {
    let ranges: [ClosedRange<Int>]
}

/// The values of `--hang-reports`.
enum HangReportChoice: CustomStringConvertible {
    case from(Duration)
    case off

    var description: String {
        switch self {
        case .from(let threshold): TimeSpan.format(threshold)
        case .off: "off"
        }
    }
}

/// The values of `--crash-reports`.
enum CrashReportChoice {
    case some(CrashReports)
    case off

    var reports: CrashReports? {
        if case .some(let reports) = self { reports } else { nil }
    }
}

/// The values of `--readiness`.
enum ReadinessChoice: CustomStringConvertible {
    case automatic
    case channel
    case notify
    case listening(String)
    case command(String)
    case probe
    case none

    var description: String {
        switch self {
        case .automatic: "auto"
        case .channel: "channel"
        case .notify: "notify"
        case .listening(let address): "listen:\(address)"
        case .command(let command): "exec:\(command)"
        case .probe: "probe"
        case .none: "none"
        }
    }

    var readiness: Readiness {
        switch self {
        case .automatic: .automatic
        case .channel: .channel
        case .notify: .notify
        case .listening: .listening
        case .command: .command
        case .probe: .probe
        case .none: .none
        }
    }

    var probe: RunConfiguration.Probe? {
        switch self {
        case .listening(let address): .listening(address)
        case .command(let command): .command(command)
        case .automatic, .channel, .notify, .probe, .none: nil
        }
    }

    /// The time between readiness probes.
    func interval(_ probe: ProbeSettings?) -> Duration {
        switch self {
        case .command: .milliseconds(250)
        case .probe, .automatic: probe.map { min(.milliseconds(250), $0.interval) } ?? .milliseconds(25)
        case .listening, .channel, .notify, .none: .milliseconds(25)
        }
    }
}
