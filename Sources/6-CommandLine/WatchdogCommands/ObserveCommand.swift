// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
public import WatchdogRun

extension ObserveConfiguration.Consequence: ExpressibleByArgument {}

/// `watchdogd observe`.
struct ObserveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "observe",
        abstract: "Watch services that already run and report their hangs, without signaling them.",
        discussion: """
            watchdogd observe redis-server --probe tcp:127.0.0.1:6379

            Probes the service, or expects the WATCHDOG=1 that its WatchdogSec= asks for. When it hangs, \
            captures its stacks and writes a crash log; the service continues. Follows \
            services over restarts. Ctrl-C ends the observation.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A service, a process ID, or a container's name or ID; may be repeated.", valueName: "target"),
        transform: ObserveCommand.target)
    var targets: [ObservedTarget] = []

    @OptionGroup(title: "Probes")
    var probing: ProbeOptions

    @Option(
        help: ArgumentHelp(
            "After a hang: report (only write the report) or restart-unit (also restart the service).",
            valueName: "what"))
    var enforce = ObserveConfiguration.Consequence.report

    @Flag(help: "With --enforce restart-unit, do not ask whether to restart services.")
    var yes = false

    @Flag(help: "Observe services of your own service manager.")
    var user = false

    @Option(
        help: ArgumentHelp("Directory for reports; none prints them on standard error.", valueName: "dir"),
        completion: .directory)
    var reports: String?

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long to observe.", valueName: "span"),
        transform: RunOptions.span)
    var duration: Duration?

    @Option(
        help: ArgumentHelp("Format of messages: text or json (default: text).", valueName: "format"),
        completion: .list(LogFormat.allCases.map(\.rawValue)), transform: RunOptions.logFormat)
    var logFormat = LogFormat.text

    @Flag(help: "Report only hangs.")
    var quiet = false

    @Flag(help: "Report everything.")
    var verbose = false

    private static func target(_ text: String) throws -> ObservedTarget {
        do {
            return try ObservedTarget(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    @OptionGroup var colors: ColorOption

    func validate() throws {
        guard !targets.isEmpty else {
            throw ValidationError("name what to observe, such as nginx.service or a process ID")
        }
        guard !quiet || !verbose else { throw ValidationError("--quiet and --verbose cannot be combined") }
        guard Set(targets).count == targets.count else {
            throw ValidationError("a target is named twice; name it once")
        }
        let areServices = targets.allSatisfy { if case .service = $0 { true } else { false } }
        guard enforce == .report || areServices else {
            throw ValidationError("--enforce restart-unit applies only to services, such as nginx.service")
        }
    }

    func run() throws {
        // Not in validate(), which runs before the parser reports an unknown option: that option's value would be a target.
        guard targets.count == 1 || probing.probe == nil else {
            throw ValidationError(
                "--probe applies to one target, and \(targets.map(\.name).joined(separator: ", ")) are \(targets.count); "
                    + "observe each in a command of its own")
        }
        colors.decorateMessages()
        if enforce == .restartUnit, !yes {
            let names = targets.map(\.name).joined(separator: ", ")
            try Question.ask("Restart \(names) after each hang?", otherwise: "nothing is observed")
        }
        var configuration = ObserveConfiguration(targets)
        configuration.manager = user ? .user : .system
        configuration.probe = probing.settings
        configuration.consequence = enforce
        configuration.printsReports = reports == "none"
        configuration.reportsDirectory = reports
        configuration.duration = duration
        configuration.logFormat = logFormat
        configuration.verbosity = quiet ? .quiet : verbose ? .verbose : .normal
        do {
            throw ExitCode(try Observe(configuration).execute())
        } catch let error as RunError {
            StandardError.say(error.description, as: .error)
            throw ExitCode(error.exitCode)
        }
    }
}
