// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl
import WatchdogSupervisor

/// `watchdogd serve`: the daemon.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Launch and supervise every app of a configuration directory.",
        discussion: """
            Launches every enabled NAME.app of the directory, watches over it, and restarts it as its file says. SIGHUP \
            reads the directory again: all of it must be valid, or nothing changes. SIGTERM asks every app to end, each \
            within its own allowance; a second one kills what is left. SIGUSR2 executes the program anew in place, for \
            example after an upgrade; SIGUSR1 ends the daemon and leaves the apps running for the next one.
            """
    )

    @Flag(help: "Serve the machine; what root does unless told otherwise.")
    var system = false

    @Flag(help: "Serve this user; what everybody but root does unless told otherwise.")
    var user = false

    @Option(help: ArgumentHelp("Where apps are configured.", valueName: "dir"), completion: .directory)
    var config: String?

    @Option(help: ArgumentHelp("The socket of the control interface.", valueName: "path"), completion: .file())
    var control: String?

    @Option(help: ArgumentHelp("Where crash logs go.", valueName: "dir"), completion: .directory)
    var reports: String?

    @OptionGroup var history: HistoryOptions

    @OptionGroup var metrics: MetricsOptions

    @Flag(help: "Say only what fails.")
    var quiet = false

    @Flag(help: "Say everything.")
    var verbose = false

    func validate() throws {
        guard !(system && user) else {
            throw ValidationError("--system and --user contradict each other; use one of them")
        }
        guard !(quiet && verbose) else {
            throw ValidationError("--quiet and --verbose contradict each other; use one of them")
        }
        for (option, value) in [("config", config), ("control", control), ("reports", reports)] {
            guard value != "" else { throw ValidationError("--\(option) is empty; give it a value or leave it out") }
        }
    }

    func run() throws {
        do {
            let scope: DaemonPlaces.Scope? = system ? .system : user ? .user : nil
            var places = try DaemonPlaces(scope: scope, controlPath: control.map(ControlPath.init))
            if let config { places.configurationDirectory = config }
            if let reports { places.reportsDirectory = reports }
            let configuration = ServeConfiguration(
                places: places, isDirectoryNamed: config != nil,
                history: try history.settings(places: places),
                metrics: try metrics.settings(),
                verbosity: quiet ? .quiet : verbose ? .verbose : .normal)
            throw ExitCode(try Serve(configuration).execute())
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }
}
