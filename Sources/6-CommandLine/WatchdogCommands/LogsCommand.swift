// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering

/// `watchdogd logs`: the output of an app.
struct LogsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show the output of apps.",
        discussion: """
            Shows the lines of the latest launch of each app, from the journal or from its output file. --follow shows those \
            of all launches and, with journalctl or tail, new lines until interrupted; of several apps, each line \
            begins with the app's name. --since applies to the journal: \
            the lines of an output file have no time.
            """
    )

    @Option(
        name: [.short, .customShort("n"), .long],
        help: ArgumentHelp("Show this many lines (default: 50, or all with --since).", valueName: "count"))
    var lines: Int?

    @Option(
        help: ArgumentHelp("Show only lines since: a span (10m), a day (2026-11-20) or a time.", valueName: "time"))
    var since: String?

    @Flag(name: .shortAndLong, help: "Keep showing new lines.")
    var follow = false

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @Argument(help: .apps("Names of apps"), completion: .appNames)
    var names: [String]

    func validate() throws {
        if follow {
            try OutputOptions.check(lines: lines ?? 0, most: 10_000)
        } else {
            try OutputOptions.check(
                lines: lines ?? 0, most: ControlLimits().logLines, instead: ", or up to 10000 with --follow")
        }
        if let since, beginning == nil {
            throw ValidationError("--since \(since): use a span (2h), a day (2026-11-20) or \"2026-11-20 18:30\"")
        }
        guard !follow || since == nil || lines == nil else {
            throw ValidationError("--since and --lines cannot be combined with --follow; leave one out")
        }
        guard !(follow && output.json) else {
            throw ValidationError("--follow and --json cannot be combined; to follow as JSON, use journalctl -o json")
        }
    }

    private var beginning: Timestamp? {
        since.flatMap { ReportFilter.beginning($0, now: .now()) }.map { Timestamp($0) }
    }

    /// The maximum number of lines to show.
    private var count: Int { lines ?? (since == nil ? 50 : ControlLimits().logLines) }

    func run() throws {
        let apps = try AppNames(names).matches(daemon, output)
        guard follow else { return try AppNames.each(apps) { try show($0, underName: apps.count > 1) } }
        var commands: [(app: String, words: [String])] = []
        var failure: (any Error)?
        do {
            try AppNames.each(apps) { commands.append(($0, try following($0))) }
        } catch {
            failure = error
        }
        // journalctl makes its output safe for a terminal, tail(1) does not.
        if apps.count == 1, failure == nil, commands[0].words[0] == "journalctl" {
            try replace(by: commands[0].words)
        }
        // An app that cannot be followed does not keep the others from being followed.
        var followers = LogFollowers()
        for command in commands { try followers.start(command.words, for: apps.count > 1 ? command.app : nil) }
        let code = followers.printLines()
        throw failure ?? ExitCode(code)
    }

    /// What the daemon says about an app, and where its output is.
    private func describe(_ name: String, lines: Int) throws -> (reply: DescribeReply, place: String) {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try client.describe(DescribeRequest(name, logLines: lines))
        }
        guard reply.isWithheld != true, !reply.isLogWithheld else {
            StandardError.say("not permitted: only root and the owner of this watchdogd may read the output of apps")
            throw ExitCode(77)
        }
        let place = reply.details?.output ?? "inherit"
        if since != nil, !["journal", "inherit", "null"].contains(place) {
            StandardError.say("the output of \(name) is in \(place), whose lines have no time; use --lines N")
            throw ExitCode(64)
        }
        return (reply, place)
    }

    private func show(_ name: String, underName: Bool) throws {
        let (reply, place) = try describe(name, lines: count)
        var log = reply.log
        if let beginning { log.removeAll { $0.time.map { $0 < beginning } ?? true } }
        if output.json {
            for line in log { StandardOutput.emit(ControlText.jsonLine(line)) }
        } else {
            if underName { print("\(name.singleLine()):") }
            pager.show(ControlText.log(log, style: output.style))
            if log.isEmpty, count > 0 {
                let isSilent = reply.log.isEmpty
                StandardError.say(isSilent ? absence(of: name, place) : "\(name) has written nothing since then")
                if !isKept(place) { throw ExitCode(69) }
            }
        }
        if since != nil, lines == nil, log.count == count {
            StandardError.say("only the latest \(count) lines of \(name) are shown; journalctl -t \(name) has all")
        }
    }

    /// Whether what an app writes there can be read later.
    private func isKept(_ place: String) -> Bool {
        switch place {
        case "inherit", "null": false
        case "journal": JournalAddress.system.isPresent
        default: true
        }
    }

    /// Why there are no lines.
    private func absence(of name: String, _ place: String) -> String {
        switch place {
        case "inherit", "null":
            "\(name) writes to \(place), which cannot be read back; set StandardOutput= in the app's file"
        case "journal" where !isKept(place):
            "there is no journal here: \(name) writes to watchdogd's standard error; set StandardOutput=append:FILE in the app's file"
        case "journal": "\(name) has written nothing to the journal since its latest launch"
        default: "\(name) has written nothing to \(place) since its latest launch"
        }
    }

    /// The program that follows the output of an app.
    private func following(_ name: String) throws -> [String] {
        let place = try describe(name, lines: 0).place
        switch place {
        case "journal":
            // journalctl takes seconds since 1970 behind an @.
            let extent = beginning.map { ["--lines=all", "--since=@\($0.microseconds / 1_000_000)"] }
            // Of journalctl's formats for people, this one names the zone.
            return ["journalctl", "--follow", "--output=short-full", "--identifier=\(name)"]
                + (extent ?? ["--lines=\(count)"])
        case "inherit", "null":
            StandardError.say(absence(of: name, place))
            throw ExitCode(69)
        default: return ["tail", "--lines=\(count)", "--follow=name", "--retry", "--", place]
        }
    }

    /// Replaces this process with a program.
    private func replace(by command: [String]) throws {
        var arguments = command.map { strdup($0) } + [nil]
        execvp(command[0], &arguments)
        StandardError.say("cannot run \(command[0]): \(String(cString: strerror(errno)))")
        throw ExitCode(71)
    }
}
