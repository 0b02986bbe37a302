// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogConfiguration
import WatchdogImport
import WatchdogLaunch
import WatchdogLinux
import WatchdogMeasurement

/// `watchdogd init`: writes an app file for a command, based on one launch.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Try a command once and write an app file for it.",
        usage: "watchdogd init [<options>] -- COMMAND [ARGS...]",
        discussion: """
            Launches COMMAND, observes how it becomes ready, where it listens and whether it sends heartbeats, ends it \
            with all its processes, and prints a commented app file that fits. Prints on standard error what it saw. \
            COMMAND really runs, with all its side effects.
            """
    )

    @Option(
        help: ArgumentHelp("How long to observe it, at most (default: 10s).", valueName: "span"),
        transform: RunOptions.span)
    var within: Duration = .seconds(10)

    @Option(help: ArgumentHelp("The app's name; the program's by default.", valueName: "name"))
    var name: String?

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Write to this file, which must not exist.", valueName: "file"),
        completion: .file())
    var output: String?

    @Flag(help: "Show the program's output on standard error; by default it is discarded.")
    var showOutput = false

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The command and its arguments, after --.", valueName: "command"),
        completion: .file())
    var command: [String] = []

    func validate() throws {
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("a command is missing; write watchdogd init [options] -- COMMAND [ARGS...]")
        }
        guard (.milliseconds(100)...(.seconds(3_600))).contains(within) else {
            throw ValidationError("--within must be from 100 ms to 1 h")
        }
        guard output != "" else { throw ValidationError("--output is empty; name a file") }
        if let output, !output.hasSuffix(AppName.fileSuffix) {
            throw ValidationError("--output \(output): the file of an app ends in .app")
        }
        _ = try appName()
    }

    /// `--name`, else the name of the output file, else that of the program.
    private func appName() throws -> AppName {
        let file = output?.split(separator: "/").last.map { String($0.dropLast(AppName.fileSuffix.count)) }
        guard let name = name ?? file else { return StarterFile.name(for: command) }
        do {
            return try AppName(name)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    func run() throws {
        // The machine's first process may be one that reaps nothing.
        defer { Subreaper.endChildren() }
        if let output, access(output, F_OK) == 0 {
            StandardError.say("\(output) exists already; nothing was tried or written")
            throw ExitCode(73)
        }
        let findings = try findings()
        StandardError.list(TrialText(findings).lines.map { "  \($0)" })
        try refuseFailure(findings)
        let file = StarterFile(
            name: try appName(), findings: findings, directory: FileManager.default.currentDirectoryPath,
            isRoot: geteuid() == 0,
            needsDirectory: command.dropFirst().contains { !$0.hasPrefix("/") && access($0, F_OK) == 0 })
        let text: String
        do throws(ImportError) {
            text = try file.text(specifiers: .host)
        } catch {
            StandardError.list([error.description])
            throw ExitCode(65)
        }
        let isWatched = findings.hello != nil || findings.heartbeats > 0 || text.contains("\nProbe=")
        if !isWatched {
            let name = try appName()
            StandardError.say(
                "nothing watches \(name) for hangs; set \(ProbeAdvice.setting(command, .automatic)) in its file",
                as: .info)
        }
        try deliver(text)
    }

    private func findings() throws -> TrialFindings {
        StandardError.say("launching \(command[0]) for at most \(TimeSpan.text(within))")
        do throws(MeasuringError) {
            let trial = try ProgramTrial(
                command, environment: .inherited, within: within, showsOutput: showOutput)
            // The program's output would tear the line.
            guard !showOutput else { return try trial.run() }
            return try LongCall.show("observing \(command[0])", limit: within, trial.run)
        } catch {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// EX_SOFTWARE: there is no app file for a program that fails, or leaves the foreground.
    private func refuseFailure(_ findings: TrialFindings) throws {
        guard case .exited(let code, _) = findings.end else { return }
        if code == 0, findings.leftBehind > 0 {
            let hint = StarterFile.foregroundOption(of: command[0]).map { "; for this program: \($0)" } ?? ""
            StandardError.say(
                "\(command[0]) went to the background; find the option that keeps it in the foreground\(hint)"
            )
            throw ExitCode(70)
        }
        guard code != 0 else { return }
        let line = findings.lastLine.map { ": \($0)" } ?? "; --show-output shows what it prints"
        StandardError.say("\(command[0]) failed with code \(code)\(line)")
        throw ExitCode(70)
    }

    private func deliver(_ text: String) throws {
        guard let output else { return StandardOutput.emit(text) }
        do throws(LinuxError) {
            try AtomicFile.create(Array(text.utf8), at: output)
            StandardError.say("wrote \(output)")
        } catch {
            StandardError.say(error.description)
            throw ExitCode(73)
        }
    }
}
