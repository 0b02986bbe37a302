// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl
import WatchdogSupervisor

/// `watchdogd logs`: the output of an app.
struct LogsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show the output of apps.",
        discussion: """
            Shows the lines of the latest launch of each app, from the journal or from its output file. --follow shows those \
            of all launches and, with journalctl or tail, new lines until interrupted.
            """
    )

    @Option(
        name: [.short, .customShort("n"), .long], help: ArgumentHelp("Show this many lines.", valueName: "count"))
    var lines = 50

    @Flag(name: .shortAndLong, help: "Keep showing new lines.")
    var follow = false

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @Argument(help: ArgumentHelp("The app's name; may be repeated.", valueName: "app"), completion: .appNames)
    var names: [String]

    func validate() throws {
        if follow {
            try OutputOptions.check(lines: lines, most: 10_000)
        } else {
            try OutputOptions.check(
                lines: lines, most: ControlLimits().logLines, instead: ", or up to 10000 with --follow")
        }
        guard !follow || names.count == 1 else {
            throw ValidationError("--follow applies to one app; journalctl --follow shows all of them")
        }
        guard !(follow && output.json) else {
            throw ValidationError("--follow and --json cannot be combined; to follow as JSON, use journalctl -o json")
        }
    }

    func run() throws {
        for name in names { try show(name) }
    }

    private func show(_ name: String) throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.describe(DescribeRequest(name, logLines: follow ? 0 : lines))
        }
        guard reply.isWithheld != true, !reply.isLogWithheld else {
            StandardError.say("not permitted: only root and the owner of this watchdogd may read the output of apps")
            throw ExitCode(77)
        }
        let place = reply.details?.output ?? "inherit"
        if follow { try go(on: place, of: name) }
        if output.json {
            for line in reply.log { print(ControlText.jsonLine(line), terminator: "") }
        } else {
            if names.count > 1 { print("\(name):") }
            pager.show(ControlText.log(reply.log, style: output.style))
            if reply.log.isEmpty, lines > 0 { StandardError.say(Self.absence(of: name, place)) }
        }
    }

    /// Why there are no lines.
    private static func absence(of name: String, _ place: String) -> String {
        switch place {
        case "inherit", "null":
            "\(name) writes to \(place), which cannot be read back; set StandardOutput= in the app's file"
        case "journal": "\(name) has written nothing to the journal since its latest launch, or there is no journal"
        default: "\(name) has written nothing to \(place) since its latest launch"
        }
    }

    /// Replaces this process with the program that follows the output.
    private func go(on place: String, of name: String) throws -> Never {
        let command: [String]
        switch place {
        case "journal": command = ["journalctl", "--follow", "--lines=\(lines)", "--identifier=\(name)"]
        case "inherit", "null":
            StandardError.say(Self.absence(of: name, place))
            throw ExitCode(69)
        default: command = ["tail", "--lines=\(lines)", "--follow=name", "--retry", "--", place]
        }
        var arguments = command.map { strdup($0) } + [nil]
        execvp(command[0], &arguments)
        StandardError.say("cannot run \(command[0]): \(String(cString: strerror(errno)))")
        throw ExitCode(71)
    }
}
