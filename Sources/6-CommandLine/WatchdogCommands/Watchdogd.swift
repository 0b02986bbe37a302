// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogSymbolication

/// The command line of watchdogd.
public struct Watchdogd: ParsableCommand {
    /// Its name, and all subcommands.
    public static let configuration = CommandConfiguration(
        commandName: "watchdogd",
        abstract: "A watchdog for programs: notices when one hangs, captures its stacks and kills it.",
        version: watchdogdVersion,
        subcommands: [
            RunCommand.self, ObserveCommand.self, ServeCommand.self, ListCommand.self, StatusCommand.self,
            TopCommand.self,
            PingCommand.self,
            LaunchCommand.self,
            TerminateCommand.self, RestartCommand.self, CaptureCommand.self, ReloadCommand.self, EventsCommand.self,
            LogsCommand.self, LaunchesCommand.self, MetricsCommand.self,
            ForegroundCommand.self, BackgroundCommand.self, SuspendCommand.self, ResumeCommand.self, EventCommand.self,
            CheckCommand.self, ImportCommand.self, WrapCommand.self, UnwrapCommand.self, InitCommand.self,
            SimulateCommand.self, SampleCommand.self, RecordCommand.self, MeasureCommand.self,
            ConformanceCommand.self, ReportCommand.self, OrganizerCommand.self, ConditionerCommand.self,
            CompletionsCommand.self,
        ]
    )

    /// Creates the command without a subcommand, which prints the help.
    public init() {}

    /// Runs the command that the process's arguments name, and exits.
    ///
    /// Prints errors in one line that names the option and what to do; the exit code is from sysexits.h.
    public static func main() {
        ExaminerSource.serveIfMeant(by: CommandLine.arguments)
        if SymbolicateCommand.isMeant(by: CommandLine.arguments) {
            Glibc.exit(SymbolicateCommand.run(CommandLine.arguments))
        }
        do {
            if try CommonCommand.run(CommandLine.arguments) { end(EXIT_SUCCESS) }
            let words = try LeadingOptions(CommandLine.arguments.dropFirst()).words
            try checkCommand(in: words[...], of: configuration)
            var command = try parseAsRoot(words)
            try command.run()
            end(EXIT_SUCCESS)
        } catch {
            let code = exitCode(for: error)
            guard code != .success else {
                let message = fullMessage(for: error)
                if !message.isEmpty { print(message) }
                end(EXIT_SUCCESS)
            }
            let message = message(for: error)
            if !message.isEmpty {
                var line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
                if line.hasPrefix("Missing expected argument '<app>") { line += "; 'watchdogd list' shows the apps" }
                StandardError.say(line)
            }
            end(code.rawValue)
        }
    }

    /// Exits; output that is lost, such as on a full disk, is no success: EX_IOERR.
    private static func end(_ code: Int32) -> Never {
        let loss = StandardOutput.flush()
        if let loss { StandardError.say(loss) }
        Glibc.exit(code == EXIT_SUCCESS && loss != nil ? 74 : code)
    }

    /// Rejects a misspelled command by name; the parser would blame the next word.
    private static func checkCommand(
        in words: ArraySlice<String>, of parent: CommandConfiguration, _ path: String = "watchdogd"
    ) throws {
        guard let word = words.first, !word.isEmpty, !word.hasPrefix("-"), !parent.subcommands.isEmpty else { return }
        let commands = parent.subcommands.map { $0.configuration }
        if path == "watchdogd", word == "serve", let folder = words.dropFirst().first, !folder.hasPrefix("-") {
            throw ValidationError("put --config before the folder: watchdogd serve --config \(folder)")
        }
        if let command = commands.first(where: { $0.commandName == word }) {
            return try checkCommand(in: words.dropFirst(), of: command, "\(path) \(word)")
        }
        // `help` is the parser's own command; it takes the names of commands.
        if path == "watchdogd", word == "help" { return try checkCommand(in: words.dropFirst(), of: parent, path) }
        let names = commands.compactMap { $0.commandName } + (path == "watchdogd" ? ["help"] : [])
        guard !names.contains(word) else { return }
        if path == "watchdogd", let advice = OtherNames.advice(on: word) {
            throw ValidationError("there is no command '\(path) \(word)'; \(advice)")
        }
        let question =
            (path == "watchdogd" ? OtherNames.commands : OtherNames.ofReports)[word].flatMap {
                names.contains($0) ? $0 : nil
            } ?? Similarity.nearest(to: word, among: names)
        if path == "watchdogd record", question == nil {
            throw ValidationError("put -- before the program: watchdogd record -- \(word)")
        }
        if path == "watchdogd report", question == nil {
            throw ValidationError(
                "there is no command '\(path) \(word)'; use '\(path) show \(word)' to read a crash log")
        }
        throw ValidationError(
            "there is no command '\(path) \(word)'; "
                + (question.map { "did you mean '\($0)'?" } ?? "'\(path) --help' lists them"))
    }
}
