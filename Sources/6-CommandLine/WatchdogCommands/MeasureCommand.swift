// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogLaunch
import WatchdogLinux
import WatchdogMeasurement

/// `watchdogd measure`: launches a program many times and compares the results.
struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measure launches of a program and detect whether it got slower.",
        usage: """
            watchdogd measure [<options>] -- PROGRAM [ARGS...]
            watchdogd measure --against OLD [<options>] -- PROGRAM [ARGS...]
            """,
        discussion: """
            Launches PROGRAM repeatedly, terminates it after each launch, and prints the wall time, CPU time and page \
            faults of every run. Runs that had to read from a disk are marked and not counted. Exits with 0 if all \
            checks pass, 1 if one fails (--max, --against, --baseline), 2 if the result is inconclusive, 70 if the \
            program fails. Write time spans as 20s, 1min 30s or 250ms.
            """
    )

    @OptionGroup(title: "Runs")
    var runs: MeasureRunOptions

    @OptionGroup(title: "Checks")
    var checks: MeasureCheckOptions

    @OptionGroup(title: "Conditions")
    var conditions: MeasureConditionOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: ArgumentHelp("Write the checks as JUnit XML.", valueName: "file"), completion: .file())
    var junit: String?

    @Flag(help: "Show the program's output on standard error; by default it is discarded.")
    var showOutput = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after --.", valueName: "program"),
        completion: .file()
    )
    var command: [String] = []

    func validate() throws {
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("a program is missing; write watchdogd measure [options] -- PROGRAM [ARGS...]")
        }
        try checks.validateFiles()
        try runs.validate(isComparison: checks.against != nil)
        for (option, value) in [("junit", junit), ("data", conditions.data)] where value == "" {
            throw ValidationError("--\(option) is empty; give it a value or leave it out")
        }
        guard conditions.evict.isEmpty || conditions.cold else {
            throw ValidationError("--evict has no effect without --cold; add --cold or leave it out")
        }
    }

    func run() throws {
        // The machine's first process may be one that reaps nothing.
        defer { Subreaper.endChildren() }
        do {
            let baseline = try checks.readBaseline()
            try checks.checkOutputs([checks.saveBaseline, junit])
            let session = try MeasurementSession(plan)
            let progress = MeasureProgress()
            let result = Result { try session.measure(onProgress: progress.show) }
            progress.clear()
            var measurement = try result.get()
            if baseline != nil || checks.saveBaseline != nil {
                measurement.phases = try session.phases(until: measurement.until)
            }
            let answers = checks.questions(baseline).answers(measurement)
            try print(measurement, answers)
            try checks.save(measurement)
            throw ExitCode(MeasurementCheck.exitCode(answers))
        } catch let error as MeasuringError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    private var plan: MeasurementPlan {
        get throws {
            MeasurementPlan(
                command: command, oldCommand: try checks.oldCommand(for: command),
                runs: runs.count(threshold: checks.against == nil ? nil : checks.threshold), discard: runs.discard,
                until: runs.until,
                timeLimit: runs.timeLimit, isCold: conditions.cold, evicted: conditions.evict,
                showsOutput: showOutput, ignoresFailure: runs.ignoreFailure, hasNetwork: !conditions.noNetwork,
                cpuQuota: conditions.cpuQuota, data: conditions.data,
                environment: MeasuredEnvironment.make(from: .inherited, adding: conditions.environment),
                version: watchdogdVersion)
        }
    }

    private func print(_ measurement: Measurement, _ answers: [MeasurementCheck]) throws {
        if let junit {
            try MeasureCheckOptions.write(Array(JUnitText.xml(measurement, checks: answers).utf8), to: junit, "--junit")
        }
        StandardOutput.emit(
            json
                ? String(decoding: try MeasurementJSON(measurement, checks: answers).encoded(), as: UTF8.self)
                : MeasurementText(measurement, checks: answers, width: TerminalWidth.columns).text)
        fflush(nil)
    }
}
