// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
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
}
