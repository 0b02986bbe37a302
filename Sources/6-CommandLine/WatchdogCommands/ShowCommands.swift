// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogControl
import WatchdogLaunch

/// `watchdogd list`: all apps in a table.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the daemon's apps and their states.")

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @Argument(help: .apps("Names of the only apps to list"), completion: .appNames)
    var names: [String] = []

    func run() throws {
        pager.show(try Self.text(of: daemon.choice, only: AppNames(names), json: output.json, output.style))
    }
}

extension ListCommand {
    /// What the command prints.
    static func text(
        of daemon: DaemonChoice, only names: AppNames = AppNames([]), json: Bool = false,
        _ style: @autoclosure () -> ControlText.Style
    ) throws -> String {
        var reply = try daemon.withClient(printsJSON: json) { client throws(ControlClientError) in try client.list() }
        if !names.typed.isEmpty {
            let known = reply.apps.map(\.name) + reply.invalidFiles.map(\.name)
            let chosen = try Set(names.matches(among: known, listedBy: "watchdogd list"))
            if let unknown = chosen.subtracting(known).sorted().first {
                let question = Similarity.nearest(to: unknown, among: known).map { "; did you mean \($0)?" } ?? ""
                StandardError.say("there is no app \(unknown)\(question)")
                throw ExitCode(66)
            }
            reply.apps.removeAll { !chosen.contains($0.name) }
            reply.invalidFiles.removeAll { !chosen.contains($0.name) }
        }
        return json ? ControlText.json(reply) : ControlText.list(reply, style: style())
    }
}

/// `watchdogd status`: apps in detail, or the daemon itself with a list of all.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of apps, their launches, pings, restarts, last crash logs and log lines.",
        discussion: """
            Without an app, shows the daemon itself, with the longest iteration of its event loop, and lists all apps. \
            With --json, it shows the daemon only.
            """
    )

    @Option(name: .shortAndLong, help: ArgumentHelp("Show this many of its latest log lines.", valueName: "count"))
    var lines = Self.usualLines

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @Argument(help: .apps("Names of apps"), completion: .appNames)
    var names: [String] = []

    func validate() throws {
        try OutputOptions.check(lines: lines, most: ControlLimits().logLines)
    }

    func run() throws {
        let (choice, json) = (daemon.choice, output.json)
        guard !names.isEmpty else {
            return pager.show(try Self.text(of: choice, json: json, output.style))
        }
        var text = ""
        defer { pager.show(text) }
        try AppNames.each(AppNames(names).matches(daemon, output)) { name in
            let part = try Self.text(of: name, lines: lines, by: choice, json: json, output.style)
            if !text.isEmpty, !json { text += "\n" }
            text += part
        }
    }
}

extension StatusCommand {
    /// How many of an app's latest log lines are shown if nobody says.
    static let usualLines = 10

    /// What the command prints of an app.
    static func text(
        of name: String, lines: Int = usualLines, by daemon: DaemonChoice, json: Bool = false,
        _ style: @autoclosure () -> ControlText.Style
    ) throws -> String {
        let reply = try daemon.withClient(printsJSON: json) { client throws(ControlClientError) in
            try client.describe(DescribeRequest(name, logLines: lines))
        }
        return json ? ControlText.json(reply) : ControlText.status(reply, style: style())
    }

    /// What the command prints without an app.
    static func text(
        of daemon: DaemonChoice, json: Bool = false, _ style: @autoclosure () -> ControlText.Style
    ) throws -> String {
        let (reply, list) = try daemon.withClient(printsJSON: json) { client throws(ControlClientError) in
            (try client.describeDaemon(), json ? nil : try client.list())
        }
        guard let list else { return ControlText.json(reply) }
        let style = style()
        return ControlText.status(reply, style: style) + "\n" + ControlText.list(list, style: style)
    }
}
