// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogConformance
import WatchdogLaunch
import WatchdogLinux
import WatchdogRun

/// `watchdogd conformance`: whether a client speaks the channel protocol as it should.
struct ConformanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Check that a program speaks the channel protocol.",
        usage: "watchdogd conformance [<options>] -- PROGRAM [ARGS...]",
        discussion: """
            Launches PROGRAM several times, acts as its supervisor and prints one line for each requirement of the \
            protocol. Exits with 0 if no requirement fails, with 1 if any does.
            """
    )

    @Option(
        help: ArgumentHelp("Time allowed from launch to READY=1.", valueName: "span"), transform: RunOptions.span)
    var launch: Duration = .seconds(20)

    @Option(help: ArgumentHelp("Time allowed for an answer.", valueName: "span"), transform: RunOptions.span)
    var answer: Duration = .seconds(5)

    @Option(help: ArgumentHelp("Time allowed for the program to exit.", valueName: "span"), transform: RunOptions.span)
    var terminate: Duration = .seconds(5)

    @Option(
        help: ArgumentHelp(
            "Leave out a requirement, by the name that --json shows; may be repeated.", valueName: "name"),
        completion: .list(Requirement.allCases.map(\.rawValue)), transform: Self.requirement)
    var except: [Requirement] = []

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: ArgumentHelp("Write the results as JUnit XML.", valueName: "file"), completion: .file())
    var junit: String?

    @Option(
        help: ArgumentHelp(
            "Write the results as TAP; - is standard output, in place of the table.", valueName: "file"),
        completion: .file())
    var tap: String?

    @Flag(help: "Show the program's output on standard error; by default it is discarded.")
    var showOutput = false

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The program and its arguments, after --.", valueName: "program"),
        completion: .file())
    var command: [String] = []

    func validate() throws {
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("a program is missing; write watchdogd conformance [options] -- PROGRAM [ARGS...]")
        }
        for (name, span) in [("launch", launch), ("answer", answer), ("terminate", terminate)] where span <= .zero {
            throw ValidationError("--\(name) must be longer than zero")
        }
        for (name, value) in [("junit", junit), ("tap", tap)] where value == "" {
            throw ValidationError("--\(name) is empty; give it a value or leave it out")
        }
        guard !json || tap != "-" else {
            throw ValidationError("--json and --tap - would both write to standard output; give --tap a file")
        }
    }

    func run() throws {
        // The machine's first process may be one that reaps nothing.
        defer { Subreaper.endChildren() }
        let files = TestResultFiles(junit: junit, tap: tap)
        try Failure.running { () throws(RunError) in try files.check() }
        do {
            let text = ConformanceText(width: TerminalWidth.columns)
            let isTable = !json && tap != "-"
            let start = Instant.now()
            var previous: ConformanceResult?
            let session = try ConformanceSession(plan, interruption: try interruption()) { result in
                guard isTable else { return }
                print(text.line(result, after: previous), terminator: "")
                previous = result
                fflush(nil)
            }
            let results = try session.run()
            let suite = TestSuite(conformanceOf: command, results: results, duration: .now() - start)
            if json { StandardOutput.emit(try ConformanceReport(command: command, results: results).encoded()) }
            if isTable { print("\n" + text.summary(results), terminator: "") }
            try Failure.running { () throws(RunError) in try files.write(suite) }
            if results.contains(where: \.isFailure) { throw ExitCode(1) }
        } catch let error as ConformanceError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    private static func requirement(_ name: String) throws -> Requirement {
        if let requirement = Requirement(rawValue: name) { return requirement }
        let names = Requirement.allCases.map(\.rawValue)
        let advice = Similarity.nearest(to: name, among: names).map { "did you mean \($0)?" }
        throw ValidationError("unknown requirement \(name); \(advice ?? "use one of \(names.joined(separator: ", "))")")
    }

    private func interruption() throws -> OwnedDescriptor { try Failure.reporting { try Interruption.descriptor() } }

    private var plan: ConformancePlan {
        var plan = ConformancePlan(
            command: command, environment: .inherited, launchLimit: launch, answerLimit: answer,
            terminationLimit: terminate, showsOutput: showOutput)
        plan.exceptions = Set(except)
        return plan
    }
}
