// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The results of a run, against which expectations are checked.
struct RunFacts {
    /// How the run ended.
    var outcome: Outcome
    /// The end as a sentence with the app's name: `HangMain exited with code 1`.
    var end: String
    /// In order.
    var incidents: [Incident]
    /// The times at which the launch reached its moments, from its beginning.
    var moments: [Expectation.Moment: Duration]
    /// The number of answers above the hang threshold, and the longest of them.
    var hangs: (count: Int, longest: Duration)
    var answers: AnswerTimes
    /// The verdict of the last report; nil without a report.
    var verdict: String?
    /// The functions of the thread that the last report is about, innermost first; nil without a report.
    var frames: [String]?
    /// The wait of the thread that the last report is about, and the holder; nil if it does not wait, or without a
    /// report.
    var wait: String?
}

extension Expectation {
    /// Whether a run meets an expectation, and what happened.
    struct Judgement: Equatable {
        var isMet: Bool
        /// A clause for "expected ready, but …".
        var actual: String
    }

    func judgement(of run: RunFacts) -> Judgement {
        switch self {
        case .reported(let code, let event):
            Judgement(isMet: Self.incidents(code, event, of: run).isEmpty == false, actual: run.end)
        case .killed(let code, let event):
            Judgement(
                isMet: Self.incidents(code, event, of: run).contains(where: \.isEnforced), actual: run.end)
        case .reached(let moment, let limit):
            Self.reached(run.moments[moment], moment, limit, run)
        case .exit(let code):
            Judgement(isMet: run.outcome.status == .exited(code: code) && run.incidents.isEmpty, actual: run.end)
        case .noHang(let limit):
            Self.hang(limit, run)
        case .noIncident:
            Judgement(
                isMet: run.incidents.isEmpty,
                actual: run.incidents.first.map { "\($0.code.hexadecimal):\($0.event.rawValue) was reported" }
                    ?? run.end)
        case .frame(let name):
            Judgement(
                isMet: run.frames?.contains { $0.contains(name) } ?? false,
                actual: run.frames.map { Self.stack($0) } ?? "nothing was reported: \(run.end)")
        case .verdict(let text):
            Judgement(
                isMet: run.verdict.map { $0.lowercased().contains(text.lowercased()) } ?? false,
                actual: run.verdict.map { "the verdict is: \($0)" } ?? "nothing was reported: \(run.end)")
        case .blocked(let text):
            Judgement(isMet: run.wait.map { Self.names(text, in: $0) } ?? false, actual: Self.blocked(run))
        }
    }

    /// Whether the description of a wait matches a condition: `tcp:10.0.0.1:443` requires a TCP socket and this
    /// address.
    private static func names(_ text: String, in wait: String) -> Bool {
        let (wait, text) = (wait.lowercased(), text.lowercased())
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["tcp", "udp", "unix", "pipe"].contains(parts[0]) else { return wait.contains(text) }
        return wait.contains(parts[0]) && (parts[1].isEmpty || wait.contains(parts[1]))
    }

    private static func blocked(_ run: RunFacts) -> String {
        if let wait = run.wait { return "it waited for \(wait)" }
        return run.verdict.map { "the verdict is: \($0)" } ?? "nothing was reported: \(run.end)"
    }

    private static func incidents(_ code: TerminationCode, _ event: WatchdogEvent?, of run: RunFacts) -> [Incident] {
        run.incidents.filter { $0.code == code && (event == nil || $0.event == event) }
    }

    private static func reached(_ time: Duration?, _ moment: Moment, _ limit: Duration?, _ run: RunFacts) -> Judgement {
        guard let time else { return Judgement(isMet: false, actual: run.end) }
        let isInTime = limit.map { time <= $0 } ?? true
        return Judgement(isMet: isInTime, actual: "\(moment.rawValue) came after \(time.brief)")
    }

    /// A hang without an answer exceeds no limit, but is an incident.
    private static func hang(_ limit: Duration?, _ run: RunFacts) -> Judgement {
        if let incident = run.incidents.first(where: { $0.event == .sceneUpdate }) {
            return Judgement(
                isMet: false, actual: "\(incident.code.hexadecimal):\(incident.event.rawValue) was reported")
        }
        if let silence = run.answers.silence, silence > limit ?? .zero {
            return Judgement(isMet: false, actual: "it had not answered for \(silence.brief) when it ended: \(run.end)")
        }
        guard let limit else {
            return Judgement(
                isMet: run.hangs.count == 0,
                actual: "\(run.hangs.count) hung, \(run.hangs.longest.brief) at the longest")
        }
        // Without pings there is no evidence, and a program that does not answer must not pass.
        guard let longest = run.answers.longest else {
            return Judgement(isMet: false, actual: "no ping was answered: \(run.end)")
        }
        return Judgement(isMet: longest <= limit, actual: "an answer took \(longest.brief)")
    }

    private static func stack(_ frames: [String]) -> String {
        frames.isEmpty ? "the report has no stack" : "the stack is \(frames.prefix(6).joined(separator: " < "))"
    }

    /// The moment of the launch that the expectation is about, and its limit; nil for other expectations.
    var launchMoment: (moment: Moment, limit: Duration?)? {
        if case .reached(let moment, let limit) = self { (moment, limit) } else { nil }
    }

    /// Whether the expectation is about the content of a report.
    var isAboutReport: Bool {
        switch self {
        case .frame, .blocked: true
        default: false
        }
    }
}
