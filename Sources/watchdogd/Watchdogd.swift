// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogPolicy
import WatchdogSupervisor

/// The command line of watchdogd.
@main
struct Watchdogd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watchdogd",
        abstract: "The 0x8badf00d watchdog for Linux: notices that a program hangs, takes every stack, kills it.",
        version: watchdogdVersion,
        subcommands: [
            RunCommand.self, ServeCommand.self, ListCommand.self, StatusCommand.self, LaunchCommand.self,
            TerminateCommand.self, RestartCommand.self, CaptureCommand.self, ReloadCommand.self, EventsCommand.self,
            LogsCommand.self,
            ForegroundCommand.self, BackgroundCommand.self, SuspendCommand.self, ResumeCommand.self, EventCommand.self,
            CheckCommand.self, SampleCommand.self, ReportCommand.self,
            ConditionerCommand.self,
        ]
    )

    /// Errors are one line that names the option and what to do; the exit code is one of sysexits.h.
    static func main() {
        do {
            try checkCommand(in: CommandLine.arguments.dropFirst(), of: configuration)
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let code = exitCode(for: error)
            guard code != .success else {
                let message = fullMessage(for: error)
                if !message.isEmpty { print(message) }
                Glibc.exit(EXIT_SUCCESS)
            }
            let message = message(for: error)
            if !message.isEmpty {
                let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
                StandardError.say(line)
            }
            Glibc.exit(code.rawValue)
        }
    }

    /// Refuses a misspelt command by its own name; the parser would blame whatever comes after it.
    private static func checkCommand(
        in words: ArraySlice<String>, of parent: CommandConfiguration, _ path: String = "watchdogd"
    ) throws {
        guard let word = words.first, !word.isEmpty, !word.hasPrefix("-"), !parent.subcommands.isEmpty else { return }
        let commands = parent.subcommands.map { $0.configuration }
        if let command = commands.first(where: { $0.commandName == word }) {
            return try checkCommand(in: words.dropFirst(), of: command, "\(path) \(word)")
        }
        // The parser's own.
        let names = commands.compactMap { $0.commandName } + (path == "watchdogd" ? ["help"] : [])
        guard !names.contains(word) else { return }
        let question = Similarity.nearest(to: word, among: names)
        throw ValidationError(
            "there is no command '\(path) \(word)'; "
                + (question.map { "did you mean '\($0)'?" } ?? "'\(path) --help' lists them"))
    }
}
