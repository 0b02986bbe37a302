// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogSupervisor

/// `watchdogd run`: one program in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Supervise one program in the foreground.",
        usage: "watchdogd run [<options>] -- COMMAND [ARGS...]",
        discussion: """
            Launches COMMAND, pings its main loop (or expects its WATCHDOG=1), and when an allowance is exhausted takes \
            the stack of every thread, kills it and writes a crash log. Ends with the program's own exit code, 128 + the \
            signal that ended it, or 137 after a watchdog kill; 125, 126 and 127 mean that it could not be started. Time \
            spans are written as 20s, 1min 30s or 250ms.
            """
    )

    @Option(help: ArgumentHelp("The name in reports; the command's own by default.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("Time to become ready.", valueName: "span"), transform: RunOptions.span)
    var launch: Duration = .seconds(20)

    @Option(help: ArgumentHelp("Time for an answer of the main loop.", valueName: "span"), transform: RunOptions.span)
    var update: Duration = .seconds(10)

    @Option(help: ArgumentHelp("Time to end after the request.", valueName: "span"), transform: RunOptions.span)
    var terminate: Duration = .seconds(5)

    @Option(help: ArgumentHelp("Time from one ping to the next.", valueName: "span"), transform: RunOptions.span)
    var ping: Duration = .seconds(1)

    @Option(
        help: ArgumentHelp(
            "How the program tells that it is ready: auto, channel, notify, listen:ADDR, exec:CMD, probe or none.",
            valueName: "how"
        ),
        transform: RunOptions.readiness
    )
    var readiness: ReadinessChoice = .automatic

    @OptionGroup
    var probing: ProbeOptions

    @Option(
        help: ArgumentHelp("What follows an exhausted allowance: kill or report.", valueName: "what"),
        transform: RunOptions.enforcement
    )
    var enforce: AppSpec.Enforcement = .kill

    @Option(help: ArgumentHelp("Where crash logs go.", valueName: "dir"))
    var reports: String?

    @Option(help: ArgumentHelp("Write a JSON summary at the end; - is standard output.", valueName: "file"))
    var json: String?

    @Option(
        help: ArgumentHelp(
            "Exit with 0 only if this happens: 0x8badf00d[:EVENT], ready or exit:N.",
            valueName: "kind"
        ),
        transform: RunOptions.expectation
    )
    var expect: Expectation?

    @Option(help: ArgumentHelp("Multiply all allowances and the ping interval.", valueName: "factor"))
    var timeScale: Double = 1

    @Option(help: ArgumentHelp("Run the program as this user.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("Run the program in this directory.", valueName: "dir"))
    var chdir: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set a variable; may be given again.", valueName: "k=v"),
        transform: RunOptions.variable
    )
    var environment: [(name: String, value: String)] = []

    @Flag(help: "Say only what fails.")
    var quiet = false

    @Flag(help: "Say everything.")
    var verbose = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after --.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("a command is missing; write watchdogd run [options] -- COMMAND [ARGS...]")
        }
        guard !(quiet && verbose) else {
            throw ValidationError("--quiet and --verbose contradict each other; use one of them")
        }
        guard timeScale.isFinite, timeScale >= 0.001, timeScale <= 1000 else {
            throw ValidationError("--time-scale \(timeScale) is out of range; use a factor from 0.001 to 1000")
        }
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("the command is empty; write watchdogd run [options] -- COMMAND [ARGS...]")
        }
        if case .probe = readiness, probing.probe == nil {
            throw ValidationError("--readiness probe has nothing to ask; add --probe")
        }
        for (option, value) in [("name", name), ("reports", reports), ("json", json), ("user", user), ("chdir", chdir)]
        {
            guard value != "" else { throw ValidationError("--\(option) is empty; give it a value or leave it out") }
        }
    }

    func run() throws {
        do {
            throw ExitCode(try Run(configuration).execute())
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// The command byte for byte: as a `String` an argument that is not UTF-8 would not be the same.
    private var commandBytes: [ByteString] {
        let arguments = ByteString.commandLine
        guard let terminator = arguments.firstIndex(of: "--") else { return command.map { ByteString($0) } }
        return Array(arguments[(terminator + 1)...])
    }

    private var configuration: RunConfiguration {
        let base = command[0].split(separator: "/").last.map(String.init) ?? command[0]
        var spec = AppSpec(
            name: name ?? base,
            allowances: Allowances(launch: launch, update: update, terminate: terminate),
            pingInterval: ping,
            readiness: readiness.readiness,
            enforcement: enforce
        )
        let probe = probing.settings
        spec.livenessProbe = probe?.probe
        spec.probeInterval = readiness.interval(probe)
        var configuration = RunConfiguration(spec: spec.scaled(by: timeScale), command: commandBytes)
        configuration.probe = readiness.probe
        configuration.livenessTarget = probe?.target
        configuration.reportsDirectory = reports
        configuration.summary = json.map { $0 == "-" ? .standardOutput : .file($0) }
        configuration.expectation = expect
        configuration.user = user
        configuration.workingDirectory = chdir
        configuration.environment = environment
        configuration.verbosity = quiet ? .quiet : verbose ? .verbose : .normal
        return configuration
    }
}
