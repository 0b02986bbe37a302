// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl
import WatchdogLaunch

/// `watchdogd launch`.
struct LaunchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Launch apps that are not running.",
        discussion: """
            Exits with 0 once the app is ready, was already running, or has done its work (it exited with 0, and its restart policy does not \
            restart it), and with 1 if the app could not be launched. Stops waiting after two seconds for an app that \
            can report that it is ready but has not.
            """
    )

    @OptionGroup var action: ActionOptions

    func run() throws {
        try action.perform(
            isDone: \.isAlreadyRunning,
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
            isDone: \.isNotRunning,
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
        abstract: "Capture the stacks of running apps or processes, and let them continue.",
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
        help: .apps("Names of apps, process IDs, names or IDs of containers"), completion: .appNames)
    var names: [String]

    func validate() throws {
        guard reports != "" else { throw ValidationError("--reports is empty; give it a folder or leave it out") }
        for name in names { try check(name) }
    }

    private func check(_ name: String) throws {
        guard !NamedProcess.isContainer(name) else { return }
        guard let process = Int32(name) else {
            guard !stop, reports == nil else {
                throw ValidationError(
                    "--stop and --reports apply only to process IDs and container:NAME; the daemon writes the report of \(name)"
                )
            }
            return
        }
        guard process > 0 else { throw ValidationError("\(process) is not a process ID; use a number above 0") }
    }

    func run() throws {
        try AppNames.each(AppNames(names).matches(daemon, output), capture)
    }

    private func capture(_ name: String) throws {
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
        StandardOutput.emit(output.json ? ControlText.json(reply) : "\(reply.report)\n")
    }
}
