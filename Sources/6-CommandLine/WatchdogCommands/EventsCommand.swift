// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering

/// `watchdogd events`.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Show app events as they happen, until interrupted.",
        discussion: """
            The daemon keeps the latest events since it was started; the journal keeps them for longer: journalctl \
            -t watchdogd.
            """)

    @Option(
        name: [.short, .customShort("n"), .long],
        help: ArgumentHelp(
            "Show this many earlier events first (default: 10, or all with --since).", valueName: "count"))
    var lines: Int?

    @Option(
        help: ArgumentHelp("Show only events since: a span (10m), a day (2026-11-20) or a time.", valueName: "time"))
    var since: String?

    @Flag(name: .shortAndLong, inversion: .prefixedNo, help: "Keep showing new events.")
    var follow = true

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @Argument(help: .apps("Show only these apps: names"), completion: .appNames)
    var apps: [String] = []

    func validate() throws {
        if let lines { try OutputOptions.check(lines: lines, most: ControlLimits().eventHistory) }
        if let since, beginning == nil {
            throw ValidationError("--since \(since): use a span (2h), a day (2026-11-20) or \"2026-11-20 18:30\"")
        }
    }

    private var beginning: Timestamp? {
        since.flatMap { ReportFilter.beginning($0, now: .now()) }.map { Timestamp($0) }
    }

    func run() throws {
        let style = output.style
        let history = lines ?? (since == nil ? 10 : ControlLimits().eventHistory)
        let named = try AppNames(apps).matches(daemon, output)
        let request = MonitorRequest(
            apps: named.isEmpty ? nil : named, history: history, follows: follow ? nil : false)
        let beginning = beginning
        // What ends by itself can be paged.
        var whole: String? = follow || output.json ? nil : ""
        // Also after an error: what came before it is not lost.
        defer { if let whole { pager.show(whole) } }
        try daemon.withClient(output) { client throws(ControlClientError) in
            try client.monitor(request) { reply in
                // The first reply has no event: the daemon misses none from now on.
                guard reply != MonitorReply() else { return true }
                if let beginning, let event = reply.event, event.time < beginning { return true }
                let line = output.json ? ControlText.jsonLine(reply) : ControlText.event(reply, style: style)
                guard whole == nil else {
                    whole? += line
                    return true
                }
                output.json ? StandardOutput.emit(line) : print(line, terminator: "")
                // Flush: a pipe would hold the line back until its buffer is full.
                return fflush(nil) == 0
            }
        }
    }
}
