// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl
import WatchdogSupervisor

/// `watchdogd logs`: the output of an app.
struct LogsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show an app's output.",
        discussion: """
            Shows the lines of the latest launch, from the journal or from the app's output file. --follow shows those \
            of all launches and, with journalctl or tail, new lines until interrupted.
            """
    )

    @Option(name: .shortAndLong, help: ArgumentHelp("Show this many lines.", valueName: "count"))
    var lines = 50

    @Flag(name: .shortAndLong, help: "Keep showing new lines.")
    var follow = false

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The app's name.", valueName: "app"), completion: .appNames)
    var name: String

    func validate() throws {
        if follow {
            try OutputOptions.check(lines: lines, most: 10_000)
        } else {
            try OutputOptions.check(
                lines: lines, most: ControlLimits().logLines, instead: ", or up to 10000 with --follow")
        }
        guard !(follow && output.json) else {
            throw ValidationError("--follow and --json cannot be combined; to follow as JSON, use journalctl -o json")
        }
    }

    func run() throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.describe(DescribeRequest(name, logLines: follow ? 0 : lines))
        }
        guard reply.isWithheld != true, !reply.isLogWithheld else {
            StandardError.say("not permitted: only root and the owner of this watchdogd may read the output of apps")
            throw ExitCode(77)
        }
        if follow { try go(on: reply.details?.output ?? "inherit") }
        if output.json {
            for line in reply.log { print(ControlText.jsonLine(line), terminator: "") }
        } else {
            print(ControlText.log(reply.log, style: output.style), terminator: "")
        }
    }

    /// Replaces this process with the program that follows the output.
    private func go(on place: String) throws -> Never {
        let command: [String]
        switch place {
        case "journal": command = ["journalctl", "--follow", "--lines=\(lines)", "--identifier=\(name)"]
        case "inherit", "null":
            StandardError.say(
                "\(name) writes to \(place), which cannot be read back; set StandardOutput= in the app's file")
            throw ExitCode(69)
        default: command = ["tail", "--lines=\(lines)", "--follow=name", "--retry", "--", place]
        }
        var arguments = command.map { strdup($0) } + [nil]
        execvp(command[0], &arguments)
        StandardError.say("cannot run \(command[0]): \(String(cString: strerror(errno)))")
        throw ExitCode(71)
    }
}
