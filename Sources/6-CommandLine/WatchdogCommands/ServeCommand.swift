// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import WatchdogControl
import WatchdogDaemon
import WatchdogLaunch

/// `watchdogd serve`: the daemon.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Launch and supervise every app in a configuration directory.",
        discussion: """
            Launches every enabled NAME.app in the directory, supervises it, and restarts it as configured. SIGHUP \
            reloads the directory; if any file is invalid, nothing changes. SIGTERM asks every app to exit within its \
            allowance; a second SIGTERM kills the rest. SIGUSR2 re-executes the daemon in place, for example after an \
            upgrade; SIGUSR1 stops the daemon and leaves the apps running for the next one.
            """
    )

    @Flag(help: "Run as the system daemon; the default for root.")
    var system = false

    @Flag(help: "Run as this user's daemon; the default for other users.")
    var user = false

    @Option(help: ArgumentHelp("Directory of app files.", valueName: "dir"), completion: .directory)
    var config: String?

    @Option(help: ArgumentHelp("Socket of the control interface.", valueName: "path"), completion: .file())
    var control: String?

    @Option(help: ArgumentHelp("Directory for crash logs.", valueName: "dir"), completion: .directory)
    var reports: String?

    @OptionGroup var journal: ReportsInJournalOption

    @OptionGroup var history: HistoryOptions

    @OptionGroup var metrics: MetricsOptions

    @OptionGroup(title: "Containers")
    var container: ContainerOptions

    @Flag(help: "Report only failures.")
    var quiet = false

    @Flag(help: "Print all messages; the default on a terminal.")
    var verbose = false

    @OptionGroup var colors: ColorOption

    func validate() throws {
        guard !(system && user) else {
            throw ValidationError("--system and --user cannot be combined")
        }
        guard !(quiet && verbose) else {
            throw ValidationError("--quiet and --verbose cannot be combined")
        }
        for (option, value) in [("config", config), ("control", control), ("reports", reports)] {
            guard value != "" else { throw ValidationError("--\(option) is empty; give it a value or leave it out") }
        }
    }

    /// The path that clients in other directories can use.
    private static func absolute(_ path: String) -> String {
        let here = FileManager.default.currentDirectoryPath
        return path.hasPrefix("/") ? path : here == "/" ? here + path : "\(here)/\(path)"
    }

    /// Whether somebody watches; a service manager's log adds times of its own.
    private var isOnTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    func run() throws {
        do {
            let scope: DaemonPlaces.Scope? = system ? .system : user ? .user : nil
            var places = try DaemonPlaces(scope: scope, controlPath: control.map(ControlPath.init))
            if let config { places.configurationDirectory = Self.absolute(config) }
            if let reports { places.reportsDirectory = Self.absolute(reports) }
            var configuration = ServeConfiguration(
                places: places, isDirectoryNamed: config != nil,
                history: try history.settings(places: places),
                metrics: try metrics.settings(),
                reportsInJournal: journal.reportsInJournal ?? true,
                verbosity: quiet ? .quiet : verbose || isOnTerminal ? .verbose : .normal)
            configuration.terminationMessage = container.terminationMessage
            configuration.gracePeriod = try container.knownGracePeriod()
            configuration.logFormat = container.logFormat
            colors.decorateMessages(withTime: isOnTerminal)
            throw ExitCode(try Serve(configuration).execute())
        } catch let error as RunError {
            StandardError.say(error.description, as: .error)
            throw ExitCode(error.exitCode)
        }
    }
}
