// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl

/// `watchdogd list`: all apps in a table.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the daemon's apps and their states.")

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    func run() throws {
        pager.show(try Self.text(of: daemon.choice, json: output.json, output.style))
    }
}

extension ListCommand {
    /// What the command prints.
    static func text(
        of daemon: DaemonChoice, json: Bool = false, _ style: @autoclosure () -> ControlText.Style
    ) throws -> String {
        let reply = try daemon.withClient(printsJSON: json) { client throws(ControlClientError) in try client.list() }
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

/// `watchdogd launch`.
struct LaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Launch apps that are not running.",
        discussion: """
            Exits with 0 once the app is ready, was running already, or has done its work (it exited with 0, and its restart policy does not \
            restart it), and with 1 if the app could not be launched. Stops waiting after two seconds for an app that \
            can report that it is ready but has not.
            """
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform(
            isSettled: \.isAlreadyRunning,
            { client, request throws(ControlClientError) in try client.launch(request) }, then: CommonCommand.tell)
    }
}

/// `watchdogd terminate`.
struct TerminateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: "Ask apps to exit, and do not restart them.",
        discussion: """
            The app gets its allowance to exit. If it exceeds that, it is killed, and a crash log shows what kept it. \
            A second terminate kills it at once.
            """
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform(
            isSettled: \.isNotRunning,
            { client, request throws(ControlClientError) in try client.terminate(request) })
    }
}

/// `watchdogd restart`.
struct RestartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart", abstract: "Ask apps to exit, and launch them again.")

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform(
            { client, request throws(ControlClientError) in try client.restart(request) }, then: CommonCommand.tell)
    }
}

/// `watchdogd capture`.
struct CaptureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Capture the stacks of a running app or process, and let it continue.",
        discussion: """
            For an app, has the daemon write a report, and prints its path; 'watchdogd report show' shows it. For any \
            other process, prints the stacks in the same form without stopping it: threads on a CPU have no stack. \
            With --stop, these are stopped too, one after another, each for tens of microseconds. Sleeping threads are \
            never disturbed, and no system call fails because of a capture.
            """
    )

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "For a process: stop threads on a CPU briefly, so that they have stacks.")
    var stop = false

    @Option(
        help: ArgumentHelp(
            "For a process: write a crash log to this directory, and print its path instead.", valueName: "dir"))
    var reports: String?

    @Argument(
        help: ArgumentHelp("The app's name, a process ID, or a container's name or ID.", valueName: "app"),
        completion: .appNames)
    var name: String

    func validate() throws {
        guard reports != "" else { throw ValidationError("--reports is empty; give it a folder or leave it out") }
        guard !NamedProcess.isContainer(name) else { return }
        guard let process = Int32(name) else {
            guard !stop, reports == nil else {
                throw ValidationError(
                    "--stop and --reports are for processes and container:NAME; for \(name) the daemon decides")
            }
            return
        }
        guard process > 0 else { throw ValidationError("\(process) is not a process ID; use a number above 0") }
    }

    func run() throws {
        if let process = try NamedProcess.explicit(name) { return try capture(process) }
        let reply: CaptureReply
        do throws(ControlClientError) {
            reply = try daemon.choice.attempt { client throws(ControlClientError) in
                try client.capture(CaptureRequest(name))
            }
        } catch {
            return try capture(
                NamedProcess.container(named: name, after: error, of: daemon.choice, printsJSON: output.json))
        }
        print(output.json ? ControlText.json(reply) : "\(reply.report)\n", terminator: "")
    }
}
