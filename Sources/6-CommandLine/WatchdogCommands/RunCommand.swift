// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogRun

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
            Launches COMMAND and pings its main loop (or expects its WATCHDOG=1). When the program exceeds an \
            allowance, captures its stacks, kills it and writes a crash log. Exits with the program's \
            own exit code, with 128 + the signal that killed it, or with 137 after a watchdog kill; 125, 126 and 127 \
            mean that it could not be started. Write time spans as 20s, 1min 30s or 250ms.
            """
    )

    @Option(
        help: ArgumentHelp("Run a configured app instead of a command.", valueName: "name"),
        completion: .appNames)
    var app: String?

    @Option(help: ArgumentHelp("Directory of app files, for --app.", valueName: "dir"), completion: .directory)
    var config: String?

    @Option(help: ArgumentHelp("Name to use in reports (default: the command's).", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp("Time allowed to become ready (default: 20s).", valueName: "span"),
        transform: RunOptions.span)
    var launch: Duration?

    @Option(
        help: ArgumentHelp("Time allowed for the main loop to answer (default: 10s).", valueName: "span"),
        transform: RunOptions.span
    )
    var update: Duration?

    @Option(
        help: ArgumentHelp("Time allowed to exit when asked (default: 5s).", valueName: "span"),
        transform: RunOptions.span
    )
    var terminate: Duration?

    @Option(help: ArgumentHelp("Time between pings (default: 1s).", valueName: "span"), transform: RunOptions.span)
    var ping: Duration?

    @Option(
        help: ArgumentHelp(
            "How the program reports that it is ready: auto, channel, notify, listen:ADDR, exec:CMD, probe or none"
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
        help: ArgumentHelp(
            "What to do when an allowance is exceeded: kill or report (default: kill).", valueName: "what"),
        completion: .list(["kill", "report"]),
        transform: RunOptions.enforcement
    )
    var enforce: AppSpec.Enforcement?

    @Option(
        help: ArgumentHelp("Report hangs of at least this length that end by themselves, or off.", valueName: "span"),
        transform: RunOptions.hangReports
    )
    var hangReports = HangReportChoice.from(.seconds(1))

    @OptionGroup var crashes: RunCrashOptions

    @OptionGroup
    var hook: RunHookOption

    @Option(
        help: ArgumentHelp("Write crash logs to this directory; none prints them on standard error.", valueName: "dir"),
        completion: .directory)
    var reports: String?

    @OptionGroup var journal: ReportsInJournalOption
    @OptionGroup var history: RunHistoryOption
    @OptionGroup var faults: RunFaultOption
    @OptionGroup var recording: RunTraceOption

    @Option(
        help: ArgumentHelp("Write a JSON summary on exit; - is standard output.", valueName: "file"),
        completion: .file())
    var json: String?

    @Option(
        help: ArgumentHelp(
            "Exit 0 only if this holds; may be repeated.",
            discussion: """
                CODE[:EVENT] such as 0x8badf00d, "killed CODE[:EVENT]", ready, "ready within SPAN", "first-frame \
                within SPAN", "useful within SPAN", "no hang", "no hang over SPAN", "no incident", exit:N, "frame \
                NAME", "blocked on TEXT", "verdict TEXT". If it only concerns the launch, the program is terminated \
                after it.
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
        help: ArgumentHelp("Terminate the program this long after its launch.", valueName: "span"),
        transform: RunOptions.span)
    var runTime: Duration?

    @Option(
        help: ArgumentHelp("Write results of conditions and script steps as JUnit XML.", valueName: "file"),
        completion: .file())
    var junit: String?

    @Option(
        help: ArgumentHelp(
            "Write results of conditions and script steps as TAP; - is standard output.", valueName: "file"),
        completion: .file())
    var tap: String?

    @Option(
        help: ArgumentHelp("Multiply all allowances and the ping interval by this (default: 1).", valueName: "factor"))
    var timeScale: Double?

    @Option(help: ArgumentHelp("Run the program as this user.", valueName: "user"), completion: .users)
    var user: String?

    @Option(help: ArgumentHelp("Run the program in this directory.", valueName: "dir"), completion: .directory)
    var chdir: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set an environment variable; may be repeated.", valueName: "k=v"),
        transform: RunOptions.variable
    )
    var environment: [(name: String, value: String)] = []

    @OptionGroup(title: "Containers")
    var container: RunContainerOptions

    @OptionGroup(title: "Lifecycle")
    var lifecycle: RunLifecycleOptions

    @Flag(help: "Report only failures.")
    var quiet = false

    @Flag(help: "Report everything.")
    var verbose = false

    @OptionGroup var colors: ColorOption

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"),
        completion: .file()
    )
    var command: [String] = []

    var factor: Double { timeScale ?? 1 }

    func run() throws {
        colors.decorateMessages()
        do {
            let run = try app.map(configuration(ofApp:)) ?? configurationOfCommand
            throw ExitCode(try Run(try completed(run)).execute())
        } catch let error as RunError {
            StandardError.say(error.description, as: .error)
            throw ExitCode(error.exitCode)
        }
    }
}
