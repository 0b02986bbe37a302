// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogMeasurement

extension LaunchGoal {
    /// The value of `--until`.
    init(option text: String) throws {
        guard let goal = LaunchGoal(rawValue: text) else {
            let names = Self.allCases.map(\.rawValue)
            let near = Similarity.nearest(to: text, among: names).map { "did you mean '\($0)'?" }
            throw ValidationError(near ?? "use one of \(names.joined(separator: ", "))")
        }
        self = goal
    }
}

/// How often, and until when, `watchdogd measure` launches a program.
struct MeasureRunOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Number of runs, or pairs of runs, to count (default: 10; with --against, as many as the answer needs).",
            valueName: "n"))
    var runs: Int?

    @Option(
        help: ArgumentHelp(
            "With --against: stop after this time, whether the answer is clear or not (default: 60s).",
            valueName: "span"),
        transform: RunOptions.span)
    var within: Duration?

    @Option(help: ArgumentHelp("Number of initial runs to discard.", valueName: "n"))
    var discard = 1

    @Option(
        help: ArgumentHelp(
            "End of a launch: ready, first-frame, useful, listen, idle or exit (default: what ends the first launch).",
            valueName: "sign"),
        completion: .list(LaunchGoal.allCases.map(\.rawValue)), transform: LaunchGoal.init(option:))
    var until: LaunchGoal?

    @Option(
        help: ArgumentHelp("Time limit for one launch (default: 60s).", valueName: "span"),
        transform: RunOptions.span)
    var timeLimit: Duration = .seconds(60)

    @Flag(help: "Accept nonzero exit codes.")
    var ignoreFailure = false

    func validate() throws {
        guard (1...10_000).contains(runs ?? 1) else {
            throw ValidationError("--runs \(runs ?? 0) is out of range; use a number from 1 to 10000")
        }
        guard (0...1000).contains(discard) else {
            throw ValidationError("--discard \(discard) is out of range; use a number from 0 to 1000")
        }
    }

    /// Checks what only some measurements have.
    func validate(isComparison: Bool) throws {
        if let runs, isComparison, runs < PairedRatio.fewestPairs {
            throw ValidationError(
                "--runs \(runs) is too few for --against: fewer than \(PairedRatio.fewestPairs) pairs prove nothing; "
                    + "leave --runs out to make as many as the answer needs")
        }
        guard within != nil else { return }
        guard isComparison else {
            throw ValidationError("--within has no effect without --against; use --runs, or leave it out")
        }
        guard runs == nil else {
            throw ValidationError("--runs and --within cannot be combined: --runs makes exactly that many pairs")
        }
    }

    /// - Parameter threshold: the tolerated slowdown of a comparison; nil without one.
    func count(threshold: Double?) -> RunCount {
        if let runs { return .exactly(runs) }
        return threshold.map { .untilDecided(threshold: $0, limit: within ?? .seconds(60)) } ?? .exactly(10)
    }
}

/// Under which conditions `watchdogd measure` launches a program.
struct MeasureConditionOptions: ParsableArguments {
    @Flag(help: "Evict the program's files from the page cache before each run.")
    var cold = false

    @Option(
        help: ArgumentHelp("With --cold, also evict this file or directory; may be repeated.", valueName: "path"),
        completion: .file())
    var evict: [String] = []

    @Flag(help: "Run the program in its own network namespace with only a loopback device.")
    var noNetwork = false

    @Option(
        help: ArgumentHelp("Limit the program to this share of one CPU, such as 50%.", valueName: "percent"),
        transform: MeasureConditionOptions.quota)
    var cpuQuota: Double?

    @Option(
        help: ArgumentHelp(
            "Give each run a fresh copy of this directory, as {data} in its arguments and $WATCHDOGD_DATA.",
            valueName: "dir"),
        completion: .directory)
    var data: String?

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set an environment variable, or pass one on; may be repeated.", valueName: "k[=v]"),
        transform: MeasureConditionOptions.variable
    )
    var environment: [(name: String, value: String?)] = []

    static func percent(_ text: String) -> Double? {
        let digits = text.hasSuffix("%") ? text.dropLast() : text[...]
        guard let number = Double(digits.last == " " ? digits.dropLast() : digits), number.isFinite else { return nil }
        return number / 100
    }

    private static func quota(_ text: String) throws -> Double {
        guard text.hasSuffix("%"), let share = percent(text), (0.01...1024).contains(share) else {
            throw ValidationError("\"\(text)\" is not a share of a CPU; write for example 50%, at least 1%")
        }
        return share
    }

    private static func variable(_ text: String) throws -> (name: String, value: String?) {
        guard text.contains("=") else {
            guard !text.isEmpty else { throw ValidationError("write NAME=VALUE, or NAME") }
            return (text, nil)
        }
        let variable = try RunOptions.variable(text)
        return (variable.name, variable.value)
    }
}
