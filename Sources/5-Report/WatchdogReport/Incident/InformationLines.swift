// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
import WatchdogVerdict

/// The lines under `Application Specific Information`.
///
/// The first line is the verdict. All others begin with a word and a colon, so that text from the app cannot imitate
/// another part of the report.
enum InformationLines {
    static func lines(
        _ facts: IncidentFacts, _ host: HostFacts, _ verdict: Verdict, _ captured: CapturedProcess?,
        _ stacks: StackInfo,
        _ insight: Insight, notes: [String]
    ) -> [String] {
        var lines = [verdict.line]
        if facts.lifecycle?.cause != nil {
            let line = Verdict(judging: facts.judgedEvidence).line
            let words = line.hasPrefix("Main thread ") ? line.dropFirst("Main thread ".count) : line[...]
            lines.append("Main thread: \(words)")
        }
        lines += WaitText(facts.evidence.waits).lines { id in stacks.details.firstIndex { $0.id == id } }
        if let trail = facts.trail { lines.append("Cause: \(trail.line)") }
        lines += insight.holders
        lines += insight.findings.map { "Finding: \($0.text)" }
        if let stages = insight.stages { lines.append(stages.line(threadIndex: stacks.faultingThread)) }
        if let missed = facts.missed { lines.append("\(missed.label): \(missed.words)") }
        if let times = facts.missed?.times { lines.append("Probes: \(times)") }
        lines += occasion(facts) + (facts.crash.map(self.crash) ?? [state(facts)])
        lines += facts.faults.map { "Fault: \($0) (injected)" }
        if let status = facts.status { lines.append("Status: \(status)") }
        if let summary = facts.summary { lines.append("Summary: \(summary)") }
        if let pings = facts.pings { lines.append(self.pings(pings)) }
        lines += facts.launch?.lines ?? []
        lines += facts.lifecycle?.lines ?? []
        lines.append(facts.crash.map { "Stacks: \($0.stacks)" } ?? self.stacks(captured))
        if facts.kind == .watchdog { lines.append(kill(facts)) }
        lines.append("Host: " + [host.hostName, host.workload?.words].compactMap(\.self).joined(separator: " · "))
        lines += notes.map { "Note: \($0)" }
        return lines.map { $0.singleLine(limit: ReportLimits.lineLength) }
    }

    private static func occasion(_ facts: IncidentFacts) -> [String] {
        let elapsed = facts.elapsed.seconds(fractionDigits: 2)
        switch facts.kind {
        case .watchdog: return [allowance(facts)]
        case .hang:
            let allowance = facts.allowance.seconds(fractionDigits: 2)
            return [
                "Hang: the main loop did not answer for \(elapsed) s, and then did; \(allowance) s were allowed",
                "Kill: none; the process continues",
            ]
        case .capture: return ["Capture: the stacks were requested; the process continues"]
        case .crash: return ["Crash: \(elapsed) s after the launch"]
        }
    }

    private static func crash(_ crash: CrashDetails) -> [String] {
        var lines: [String] = []
        if let signal = crash.signal, let name = crash.signalName {
            var parts = ["\(name) (\(signal))"]
            if let code = crash.code { parts.append(crash.codeName ?? "code \(code)") }
            if let address = crash.address { parts.append("address \(address.hexadecimal())") }
            if let thread = crash.thread { parts.append("thread \(thread)") }
            if crash.wasEnding { parts.append("after the request to end") }
            lines.append("Signal: " + parts.joined(separator: ", "))
        }
        if let sender = crash.senderPID {
            let number = "pid \(sender), user \(crash.senderUserID ?? 0)"
            lines.append("Sender: " + (sender == 0 ? "a process outside its pid namespace" : number))
        }
        if let kills = crash.memoryKills, kills > 0 {
            let processes = kills.counted("process", "processes")
            let lately = crash.recentMemoryKills == 0 ? ", none of them lately" : ""
            lines.append("Memory: the kernel has killed \(processes) of its cgroup because memory was short\(lately)")
        }
        return lines
    }

    private static func allowance(_ facts: IncidentFacts) -> String {
        let allowance = facts.allowance.seconds(fractionDigits: 2)
        let what =
            switch facts.exhaustion {
            case .wallClock: "\(allowance) s for \(facts.event.rawValue)"
            case .cpuTime: "\(allowance) s of CPU time for \(facts.event.rawValue)"
            case .termination: "\(allowance) s to end after the request"
            case .backgroundTask: "\(allowance) s in the background for open tasks"
            case .taskCount: "not of time, but of background tasks"
            case .lockedFiles: "none, files must not be locked during suspension"
            case .triggered: "not exhausted, the app asked for its own termination"
            case .requested: "none exhausted, somebody asked for the stacks"
            case .ended: "none exhausted, it ended by itself"
            }
        var parts = [what]
        if facts.credit > .zero {
            parts.append("\(facts.credit.seconds(fractionDigits: 2)) s credit for waiting for a CPU")
        }
        if facts.extended > .zero { parts.append("extended by \(facts.extended.seconds(fractionDigits: 2)) s") }
        if facts.paused > .zero { parts.append("clock stopped for \(facts.paused.seconds(fractionDigits: 2)) s") }
        parts.append("elapsed \(facts.elapsed.seconds(fractionDigits: 2)) s")
        return "Allowance: " + parts.joined(separator: ", ")
    }

    private static func state(_ facts: IncidentFacts) -> String {
        let words: [Character: String] = [
            "R": "runnable", "S": "sleeping", "D": "uninterruptible", "T": "stopped", "t": "stopped by a tracer",
            "Z": "ended", "X": "ended", "I": "idle",
        ]
        let main = facts.evidence.state.map { "main thread \($0) (\(words[$0] ?? "unknown state"))" }
        return "State: \(facts.visibility.rawValue), \(facts.processState.rawValue), \(main ?? "main thread unknown")"
    }

    private static func pings(_ pings: PingSummary) -> String {
        let last = pings.sinceLastAnswerNanoseconds.map {
            ", last answer \(Duration.nanoseconds($0).seconds(fractionDigits: 2)) s ago"
        }
        return "Pings: \(pings.sent) sent, \(pings.answered) answered\(last ?? "")"
    }

    private static func stacks(_ captured: CapturedProcess?) -> String {
        guard let captured else { return "Stacks: none could be taken" }
        let reason = captured.methodReason.map { ", because \($0)" } ?? ""
        switch captured.method {
        case .ptrace:
            let frozen = Duration.nanoseconds(Int64(clamping: captured.frozenNanoseconds))
            return "Stacks: all threads stopped at once, for \(frozen.milliseconds(fractionDigits: 1)) ms"
        case .procfsRegisters: return "Stacks: taken without stopping the process\(reason)"
        case .procfs: return "Stacks: none, only what the kernel reports for each thread\(reason)"
        case .core, .journal: return "Stacks: taken after the end\(reason)"
        }
    }

    private static func kill(_ facts: IncidentFacts) -> String {
        switch facts.kill {
        case .none:
            facts.enforcement == .report
                ? "Kill: none, the process was left running (enforcement: report)" : "Kill: none"
        case .verified(let after):
            "Kill: every process gone \(max(.zero, after).milliseconds(fractionDigits: 1)) ms after the decision"
        case .unverified: "Kill: SIGKILL sent, effect not verified"
        case .unkillable(let pids):
            "Kill: SIGKILL did not end pid \(pids.prefix(32).map(String.init).joined(separator: ", "))"
        }
    }
}
