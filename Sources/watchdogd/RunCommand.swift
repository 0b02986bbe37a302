// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogLinux
import WatchdogPolicy
import WatchdogSupervisor

/// `watchdogd run`: one program in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Supervise one program in the foreground.",
        usage: """
            watchdogd run [<options>] -- COMMAND [ARGS...]
            watchdogd run [<options>] --app NAME
            """,
        discussion: """
            Launches COMMAND, pings its main loop (or expects its WATCHDOG=1), and when an allowance is exhausted takes \
            the stack of every thread, kills it and writes a crash log. Ends with the program's own exit code, 128 + the \
            signal that ended it, or 137 after a watchdog kill; 125, 126 and 127 mean that it could not be started. Time \
            spans are written as 20s, 1min 30s or 250ms.
            """
    )

    @Option(
        help: ArgumentHelp("Run an app of the configuration instead of a command.", valueName: "name"),
        completion: .appNames)
    var app: String?

    @Option(help: ArgumentHelp("Where apps are configured, for --app.", valueName: "dir"), completion: .directory)
    var config: String?

    @Option(help: ArgumentHelp("The name in reports; the command's own by default.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp("Time to become ready (default: 20s).", valueName: "span"), transform: RunOptions.span)
    var launch: Duration?

    @Option(
        help: ArgumentHelp("Time for an answer of the main loop (default: 10s).", valueName: "span"),
        transform: RunOptions.span
    )
    var update: Duration?

    @Option(
        help: ArgumentHelp("Time to end after the request (default: 5s).", valueName: "span"),
        transform: RunOptions.span
    )
    var terminate: Duration?

    @Option(
        help: ArgumentHelp("Time from one ping to the next (default: 1s).", valueName: "span"),
        transform: RunOptions.span
    )
    var ping: Duration?

    @Option(
        help: ArgumentHelp(
            "How the program tells that it is ready: auto, channel, notify, listen:ADDR, exec:CMD, probe or none"
                + " (default: auto).",
            valueName: "how"
        ),
        completion: .list(["auto", "channel", "notify", "listen:", "exec:", "probe", "none"]),
        transform: RunOptions.readiness
    )
    var readiness: ReadinessChoice?

    @OptionGroup
    var probing: ProbeOptions

    @Option(
        help: ArgumentHelp("What follows an exhausted allowance: kill or report (default: kill).", valueName: "what"),
        completion: .list(["kill", "report"]),
        transform: RunOptions.enforcement
    )
    var enforce: AppSpec.Enforcement?

    @Option(
        help: ArgumentHelp("Report hangs that end by themselves from this length on; off for none.", valueName: "span"),
        transform: RunOptions.hangReports
    )
    var hangReports = HangReportChoice.from(.seconds(1))

    @Option(
        help: ArgumentHelp(
            "Report unexpected exits: all; signals, not exit codes; off (default: signals).",
            valueName: "which"),
        completion: .list(["all", "signals", "off"]),
        transform: RunOptions.crashReports
    )
    var crashReports: CrashReportChoice?

    @Flag(help: "Let the kernel write a core file when a signal ends the program, and take the stacks from it.")
    var crashStacks = false

    @Option(
        help: ArgumentHelp("Where crash logs go; none prints them on standard error.", valueName: "dir"),
        completion: .directory)
    var reports: String?

    @OptionGroup var history: RunHistoryOption

    @Option(
        help: ArgumentHelp("Write a JSON summary at the end; - is standard output.", valueName: "file"),
        completion: .file())
    var json: String?

    @Option(
        help: ArgumentHelp(
            "Exit with 0 only if this is so; may be given again.",
            discussion: """
                CODE[:EVENT] such as 0x8badf00d, "killed CODE[:EVENT]", ready, "ready within SPAN", "first-frame \
                within SPAN", "useful within SPAN", "no hang", "no hang over SPAN", "no incident", exit:N, "frame \
                NAME", "blocked on TEXT", "verdict TEXT". If only the launch is expected, the program is then asked to terminate.
                """,
            valueName: "condition"
        ),
        completion: .list([
            "0x8badf00d", "killed 0x8badf00d", "ready", "ready within ", "first-frame within ", "useful within ",
            "no hang", "no hang over ", "no incident", "exit:", "frame ", "blocked on ",
            "verdict ",
        ]),
        transform: RunOptions.expectation
    )
    var expect: [Expectation] = []

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Ask the program to terminate this long after its launch.", valueName: "span"),
        transform: RunOptions.span)
    var runTime: Duration?

    @Option(
        help: ArgumentHelp("Write what was expected and what came as a JUnit test suite.", valueName: "file"),
        completion: .file())
    var junit: String?

    @Option(
        help: ArgumentHelp("Write the same as TAP; - is standard output.", valueName: "file"), completion: .file())
    var tap: String?

    @Option(help: ArgumentHelp("Multiply all allowances and the ping interval (default: 1).", valueName: "factor"))
    var timeScale: Double?

    @Option(help: ArgumentHelp("Run the program as this user.", valueName: "user"), completion: .users)
    var user: String?

    @Option(help: ArgumentHelp("Run the program in this directory.", valueName: "dir"), completion: .directory)
    var chdir: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set a variable; may be given again.", valueName: "k=v"),
        transform: RunOptions.variable
    )
    var environment: [(name: String, value: String)] = []

    @OptionGroup(title: "Containers")
    var container: RunContainerOptions

    @OptionGroup(title: "Lifecycle")
    var lifecycle: RunLifecycleOptions

    @Flag(help: "Say only what fails.")
    var quiet = false

    @Flag(help: "Say everything.")
    var verbose = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"),
        completion: .file()
    )
    var command: [String] = []

    var factor: Double { timeScale ?? 1 }

    func run() throws {
        do {
            let run = try app.map(configuration(ofApp:)) ?? configurationOfCommand
            throw ExitCode(try Run(try completed(run)).execute())
        } catch let error as RunError {
            StandardError.say(error.description, as: .error)
            throw ExitCode(error.exitCode)
        }
    }
}
