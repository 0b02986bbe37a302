// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl

/// `watchdogd list`: all apps in a table.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the apps of the daemon, with their states.")

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in try client.list() }
        print(output.json ? ControlText.json(reply) : ControlText.list(reply, style: output.style), terminator: "")
    }
}

/// `watchdogd status`: one app in detail, or the daemon itself.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show an app: state, launch, pings, restarts, last crash log, last lines.",
        discussion: "Without an app it shows the daemon itself, with the longest turn of its loop."
    )

    @Option(name: .shortAndLong, help: ArgumentHelp("How many of its latest log lines are shown.", valueName: "count"))
    var lines = 10

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Argument(
        help: ArgumentHelp("The app's name; without one the daemon itself.", valueName: "app"), completion: .appNames)
    var name: String?

    func validate() throws {
        try OutputOptions.check(lines: lines, most: ControlLimits().logLines)
    }

    func run() throws {
        guard let name else {
            let reply = try daemon.withClient(output) { client throws(ControlClientError) in
                try client.describeDaemon()
            }
            return print(output.json ? ControlText.json(reply) : ControlText.status(reply), terminator: "")
        }
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.describe(DescribeRequest(name, logLines: lines))
        }
        print(output.json ? ControlText.json(reply) : ControlText.status(reply, style: output.style), terminator: "")
    }
}

/// The options of commands that act on one app.
struct ActionOptions: ParsableArguments {
    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(inversion: .prefixedNo, help: "Wait until it is done.")
    var wait = true

    @Argument(help: ArgumentHelp("The app's name.", valueName: "app"), completion: .appNames)
    var name: String

    /// Calls the daemon; prints the reply only as JSON, because the exit code is enough for people.
    @discardableResult
    func perform<Reply: ControlReply>(
        _ call: (ControlClient, AppRequest) throws(ControlClientError) -> Reply
    ) throws -> Reply {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try call(client, AppRequest(name, waits: wait))
        }
        if output.json { print(ControlText.json(reply), terminator: "") }
        return reply
    }

    func tell(_ reply: LaunchReply) {
        if !output.json { CommonCommand.tell(reply, of: name) }
    }
}

/// `watchdogd launch`.
struct LaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Launch an app that does not run.",
        discussion: """
            Ends when the app is ready or has done its work (it has exited with 0, and its restart policy leaves it at \
            that), with 0, or when it could not be launched, with 1. An app that could say that it is ready, and has said \
            nothing for two seconds, is not waited for.
            """
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        action.tell(try action.perform { client, request throws(ControlClientError) in try client.launch(request) })
    }
}

/// `watchdogd terminate`.
struct TerminateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: "Ask an app to end, and do not launch it again.",
        discussion: """
            The app has its allowance to end; when that is exhausted it is killed, and a crash log tells what kept it. \
            Said again, it is killed at once.
            """
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform { client, request throws(ControlClientError) in try client.terminate(request) }
    }
}

/// `watchdogd restart`.
struct RestartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart", abstract: "Ask an app to end, and launch it again.")

    @OptionGroup var action: ActionOptions

    func run() throws {
        action.tell(try action.perform { client, request throws(ControlClientError) in try client.restart(request) })
    }
}

/// `watchdogd capture`.
struct CaptureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Take the stacks of a running app or process, and let it run on.",
        discussion: """
            Of an app, the daemon writes a report, whose path is printed; 'watchdogd report show' shows it. Of any other \
            process the stacks are printed in the same form, without stopping it: threads that sleep notice nothing, and \
            threads on a CPU have no stack. With --stop all threads are stopped at one instant, for about a millisecond, \
            and every one has its stack; a system call that was waiting may then end early with EINTR.
            """
    )

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Of a process: stop all threads for a moment.")
    var stop = false

    @Option(help: ArgumentHelp("Of a process: write a crash log here, and print its path instead.", valueName: "dir"))
    var reports: String?

    @Argument(help: ArgumentHelp("The app's name, or a process's id.", valueName: "app"), completion: .appNames)
    var name: String

    func validate() throws {
        guard reports != "" else { throw ValidationError("--reports is empty; give it a folder or leave it out") }
        guard let process = Int32(name) else {
            guard !stop, reports == nil else {
                throw ValidationError("--stop and --reports are for processes; for \(name) the daemon decides")
            }
            return
        }
        guard process > 0 else { throw ValidationError("\(process) is no process id; use a number above 0") }
    }

    func run() throws {
        if let process = Int32(name) { return try capture(process) }
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.capture(CaptureRequest(name))
        }
        print(output.json ? ControlText.json(reply) : "\(reply.report)\n", terminator: "")
    }
}

/// `watchdogd events`.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Show what happens to apps, as it happens, until interrupted.")

    @Option(name: .shortAndLong, help: ArgumentHelp("How many earlier events are shown first.", valueName: "count"))
    var lines = 10

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Only these apps.", valueName: "app"), completion: .appNames)
    var apps: [String] = []

    func validate() throws {
        try OutputOptions.check(lines: lines, most: ControlLimits().eventHistory)
    }

    func run() throws {
        let style = output.style
        let request = MonitorRequest(apps: apps.isEmpty ? nil : apps, history: lines)
        try daemon.withClient(output) { client throws(ControlClientError) in
            try client.monitor(request) { reply in
                // The first reply has no event: the daemon misses none from now on.
                guard reply != MonitorReply() else { return true }
                print(
                    output.json ? ControlText.jsonLine(reply) : ControlText.event(reply, style: style), terminator: "")
                // Flush: a pipe would hold the line back until its buffer is full.
                return fflush(nil) == 0
            }
        }
    }
}
