// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogRun
import WatchdogSimulation

extension RunCommand {
    /// The command byte for byte: a `String` would change an argument that is not UTF-8.
    private var commandBytes: [ByteString] {
        let arguments = ByteString.commandLine
        guard let terminator = arguments.firstIndex(of: "--") else { return command.map { ByteString($0) } }
        return Array(arguments[(terminator + 1)...])
    }

    func configuration(ofApp name: String) throws -> RunConfiguration {
        let places = try DaemonPlaces()
        let app = try InstalledApp.find(name, in: config ?? places.configurationDirectory)
        guard app.observed == nil else {
            throw ValidationError(
                "\(name) has Observe=, so it cannot be run; use 'watchdogd observe' or 'watchdogd serve'")
        }
        return RunConfiguration(app: app)
    }

    var configurationOfCommand: RunConfiguration {
        let readiness = readiness ?? .automatic
        let base = command[0].split(separator: "/").last.map(String.init) ?? command[0]
        var spec = AppSpec(
            name: name ?? base,
            allowances: Allowances(
                launch: launch ?? .seconds(20), update: update ?? .seconds(10), terminate: terminate ?? .seconds(5)),
            pingInterval: ping ?? .seconds(1),
            readiness: readiness.readiness,
            enforcement: enforce ?? .kill
        )
        spec.observationDelay = .seconds(1)
        if case .from(let threshold) = hangReports {
            spec.hangReportThreshold = threshold
            spec.observationDelay = min(threshold, .seconds(1))
        }
        spec.crashReports = (crashes.crashReports ?? .some(.signals)).reports
        let probe = probing.settings
        spec.livenessProbe = probe?.probe
        spec.probeInterval = readiness.interval(probe)
        lifecycle.apply(to: &spec.lifecycle)
        var configuration = RunConfiguration(spec: spec.scaled(by: factor), command: commandBytes)
        configuration.probe = readiness.probe
        configuration.livenessTarget = probe?.target
        configuration.takesCrashStacks = crashes.crashStacks
        configuration.keepsStacks = crashes.keepStacks
        configuration.recordsStartup = !lifecycle.noRecordLaunches
        configuration.onIncident = hook.hook
        configuration.reportsInJournal = journal.reportsInJournal ?? true
        configuration.user = user
        configuration.workingDirectory = chdir
        configuration.environment = environment
        return configuration
    }

    /// Adds the options that apply to both commands and apps.
    func completed(_ run: RunConfiguration) throws -> RunConfiguration {
        var configuration = run
        configuration.printsReports = reports == "none"
        configuration.reportsDirectory = reports
        try container.apply(to: &configuration)
        configuration.history = history.settings
        configuration.summary = json.map { $0 == "-" ? .standardOutput : .file($0) }
        configuration.expectations = expect
        configuration.runTime = runTime
        configuration.faults = faults.fault
        configuration.trace = recording.trace.map { path in
            .init(path) { try TraceFile(path, of: $0, $1).finish }
        }
        configuration.resultFiles = TestResultFiles(junit: junit, tap: tap)
        configuration.timeScale = factor
        try lifecycle.apply(to: &configuration)
        configuration.verbosity = quiet ? .quiet : verbose ? .verbose : .normal
        return configuration
    }
}
