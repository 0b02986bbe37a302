// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

extension ControlText {
    /// The line about a launched app that exited after completing its work; nil for one that is running.
    public static func end(_ reply: LaunchReply, of name: String) -> String? {
        reply.ended.map { "\(name.singleLine()) has done its work: \($0.singleLine())" }
    }

    private static let labelWidth = 11

    /// The status of the daemon itself.
    public static func status(_ daemon: DaemonReply, style: Style = Style()) -> String {
        let spans = [daemon.longestTurn, daemon.recentTurn].map { $0.duration.brief }
        return "watchdogd \(daemon.version.singleLine())\n" + wrapped("PID", "\(daemon.pid)", style)
            + wrapped("Apps", "\(daemon.apps)", style)
            + (daemon.reports.map { wrapped("Reports", $0.singleLine(), style) } ?? "")
            + wrapped("Loop", "longest iteration \(spans[0]); in the last minute \(spans[1])", style)
    }

    /// The full status of an app, with its latest log lines.
    public static func status(_ reply: DescribeReply, style: Style = Style()) -> String {
        let app = reply.app
        var text = wrap(app.name.singleLine() + (app.summary.map { " - \($0.singleLine())" } ?? ""), indent: 4, style)
        // Add the color last: it must not count when lines are wrapped.
        let state = wrapped("State", stateText(app, style), style)
        let name = app.standing.rawValue.singleLine()
        text += state.replacing(name, with: colored(name, app.meaning, style), maxReplacements: 1)
        if app.state == .failed { text += wrapped("Relaunch", "watchdogd launch \(app.name.singleLine())", style) }
        if let pid = app.pid { text += wrapped("PID", "\(pid)", style) }
        if let details = reply.details {
            text += self.details(details, of: app, style)
        } else {
            text += wrapped("Restarts", "\(app.restarts)", style)
        }
        if reply.isWithheld == true {
            text += wrapped("Details", "shown only to root and the owner of this watchdogd", style)
        } else if reply.isLogWithheld {
            text += wrapped("Log", "shown only to root and the owner of this watchdogd", style)
        }
        guard !reply.log.isEmpty else { return text }
        return text + "\n" + reply.log.map { line($0, style) }.joined()
    }

    private static func details(_ details: AppDetails, of app: AppSummary, _ style: Style) -> String {
        var text = ""
        if let lifecycle = details.lifecycle,
            ![LifecycleState.foreground.rawValue, app.state.rawValue].contains(lifecycle)
        {
            text += wrapped("Lifecycle", lifecycle.singleLine(), style)
        }
        if let file = details.file { text += wrapped("File", file.singleLine(), style) }
        if let launch = details.launch {
            text += wrapped("Launch", self.launch(launch), style)
            if let phases = phases(launch) { text += wrapped("Phases", phases, style) }
        }
        if let event = details.launchedFor { text += wrapped("Event", event.singleLine(), style) }
        text += wrapped("Allowances", allowances(details), style)
        if details.pings.count > 0 || details.probes == nil {
            text += wrapped(
                "Pings", latencies(details.pings) + (details.pings.count > 0 ? stray(details.strayAnswers) : ""),
                style)
        }
        if let probes = details.probes {
            let failed = (details.failedProbes ?? 0) > 0 ? "; \(details.failedProbes ?? 0) failed" : ""
            let refusal = details.probeRefusal.map { "; impossible: \($0.singleLine())" } ?? ""
            text += wrapped("Probes", latencies(probes) + failed + refusal, style)
        }
        if let answer = details.lastAnswer, app.silence != nil {
            text += wrapped("Last answer", "\(style.time.date(answer)) (\(style.time.distance(answer)))", style)
        }
        if app.isWatched == false {
            let advice = details.probeAdvice.map { "; add \($0.singleLine())" } ?? ""
            text += wrapped("Hangs", "not watched: no probe, no answers to pings, no WATCHDOG=1\(advice)", style)
        }
        if details.hangs.count > 0 { text += wrapped("Hangs", hangs(details.hangs), style) }
        text += wrapped("Restarts", restarts(app, details), style)
        if let limit = details.reachedLimit { text += wrapped("Limit", limit.words.singleLine(), style) }
        if let exit = details.lastExit { text += wrapped("Last exit", exit.singleLine(), style) }
        if let incident = app.lastIncident { text += self.incident(incident, style) }
        if let status = details.status { text += wrapped("Status", status.singleLine(), style) }
        for gap in details.reportGaps ?? [] { text += wrapped("Reports", gap.singleLine(), style) }
        return text
    }

    private static func wrapped(_ label: String, _ text: String, _ style: Style) -> String {
        wrap("\(label.right(labelWidth)): \(text)", indent: labelWidth + 2, style)
    }

    private static func stateText(_ app: AppSummary, _ style: Style) -> String {
        var text = app.silence.map { $0.text(at: style.time.now) + "; " } ?? ""
        text += "\(app.state.rawValue.singleLine()) since \(style.time.date(app.since))"
        text += " (\((style.time.now - app.since).rough))"
        if let uptime = app.uptime, app.state != .running { text += ", up \(uptime.duration.rough)" }
        if let next = app.nextLaunch, app.state == .waiting { text += ", to be launched \(style.time.distance(next))" }
        return text
    }

    private static func allowances(_ details: AppDetails) -> String {
        let spans = [
            ("launch", details.allowances.launch), ("update", details.allowances.update),
            ("terminate", details.allowances.terminate),
        ]
        return spans.map { "\($0) \(TimeSpan.text($1.duration))" }.joined(separator: ", ")
            + (details.isEnforced ? "" : "; reported only, nothing is killed")
    }

    /// The durations of the phases; nil if the line for the launch already has all of them.
    private static func phases(_ launch: LaunchSummary) -> String? {
        let phases = (launch.phases ?? []).map { ($0, LaunchPhaseName(rawValue: $0.name)) }
        guard phases.contains(where: { $1?.isActivity == true }) else { return nil }
        return phases.prefix(LaunchPhaseName.allCases.count).map { phase, known in
            "\(known?.fullTitle ?? phase.name.singleLine()) \(phase.duration.duration.brief)"
        }.joined(separator: ", ")
    }

    private static func launch(_ launch: LaunchSummary) -> String {
        let moments = [
            ("executed after", launch.request), ("hello", launch.hello), ("first frame", launch.firstFrame),
            ("useful", launch.useful), ("tasks over", launch.extended),
        ].compactMap { name, span in span.map { "\(name) \($0.duration.brief)" } }
        let tasks = (launch.openTasks ?? []).map { $0.singleLine() }.joined(separator: ", ")
        let duration = launch.duration.duration
        // A program may be ready before watchdogd notices its execution.
        let time = duration <= .zero ? "at once" : "after \(duration.brief)"
        return "ready \(time) (\(launch.source.singleLine()))"
            + (moments.isEmpty ? "" : "; " + moments.joined(separator: ", "))
            + (tasks.isEmpty ? "" : "; tasks open: \(tasks)")
    }

    private static func latencies(_ answers: LatencySummary) -> String {
        guard answers.count > 0 else { return "none" }
        let spans = [("p50", answers.median), ("p99", answers.percentile99), ("max", answers.maximum)]
        let parts = spans.compactMap { name, span in span.map { "\(name) \($0.duration.brief)" } }
        return "\(answers.count); \(parts.joined(separator: ", "))"
    }

    private static func stray(_ count: Int) -> String {
        switch count {
        case ...0: ""
        case 1: "; 1 answer without a ping"
        default: "; \(count) answers without a ping"
        }
    }

    private static func hangs(_ hangs: LatencySummary) -> String {
        "\(hangs.count)" + (hangs.maximum.map { "; longest \($0.duration.brief)" } ?? "")
    }

    private static func restarts(_ app: AppSummary, _ details: AppDetails) -> String {
        let causes = details.restartsByCause.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\($0.key.singleLine()) \($0.value)" }
        return "\(app.restarts)" + (causes.isEmpty ? "" : " (\(causes.joined(separator: ", ")))")
    }

    private static func incident(_ incident: IncidentSummary, _ style: Style) -> String {
        let when = "\(style.time.date(incident.time)) (\(style.time.distance(incident.time)))"
        let blanks = String(repeating: " ", count: labelWidth + 2)
        // The verdict of an end already describes it.
        let isEnd = [.crash, .exit].contains(incident.kind)
        let sentences = [isEnd && incident.verdict != nil ? nil : incident.summary, incident.verdict].compactMap(\.self)
        var text = wrapped("Incident", "\(when) \(sentences.first?.singleLine() ?? "")", style)
        for detail in sentences.dropFirst() + [incident.report].compactMap(\.self) {
            text += wrap(blanks + detail.singleLine(), indent: labelWidth + 2, style)
        }
        return text
    }

    private static func line(_ line: LogLine, _ style: Style) -> String {
        let text = line.text.replacing("\t", with: " ").singleLine()
        let stamp = line.time.map { style.time.date($0) + " " } ?? ""
        return (stamp + text).cut(to: style.columns ?? .max) + "\n"
    }
}

extension ControlText {
    /// Uncut output lines of an app, each with its time if known.
    public static func log(_ lines: [LogLine], style: Style = Style()) -> String {
        lines.map { line in
            let stamp = line.time.map { style.time.date($0) + " " } ?? ""
            return stamp + line.text.replacing("\t", with: "    ").singleLine() + "\n"
        }.joined()
    }
}
