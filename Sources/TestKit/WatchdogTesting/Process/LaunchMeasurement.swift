// SPDX-License-Identifier: Apache-2.0

internal import CTesting
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WatchdogBase

/// What ends a measured launch.
public enum LaunchMoment: String, Sendable {
    /// The app is ready.
    case ready
    /// It has drawn its first frame.
    case firstFrame = "first-frame"
    /// It is useful.
    case useful
    /// It listens on a socket for the first time.
    case listen
    /// Its main thread waits for events for the first time.
    case idle
    /// It exits.
    case exit
}

/// Expects that a program launches no slower than its baseline says.
///
/// ```swift
/// @Test func launchIsAsFastAsBefore() async throws {
///     try await expectLaunch(of: "Feed", until: .ready, within: .milliseconds(400))
/// }
/// ```
///
/// `watchdogd measure` discards one launch and measures five. The baseline belongs into the repository: with
/// `WATCHDOGD_RECORD_BASELINES=1` in the environment, it is written instead of checked. Counters that are almost the same
/// in every launch fail the test, as does a phase of the launch that at least doubles; the message names the phases that
/// grew.
///
/// - Parameters:
///   - program: The program: `"NAME"` of an executable target, or `"/path"`. A debug build has other figures than a
///     release build: measure what you ship.
///   - end: What ends a launch; nil for what ends the first one.
///   - limit: The longest median wall time; nil for no limit.
///   - runs: The launches that count.
///   - baseline: The file; nil for `LaunchBaselines/NAME.json` beside the test's file.
///   - file: The test's file.
/// - Throws: ``ExpectationFailure`` with all checks that failed or could not be decided, and ``TestSetupError`` if there
///   is no baseline or nothing could be measured.
public func expectLaunch(
    of program: Program, until end: LaunchMoment? = nil, within limit: Duration? = nil, runs: Int = 5,
    baseline: String? = nil, file: String = #filePath
) async throws {
    let folder = file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex)
    let path = baseline ?? "\(folder)/LaunchBaselines/\(program.name).json"
    var options = ["--runs", "\(runs)", "--discard", "1"]
    if let end { options += ["--until", end.rawValue] }
    if let limit { options += ["--max", "\(limit.nanoseconds)ns"] }
    let isRecording = getenv(LaunchMeasurement.variable).map { !["", "0"].contains(String(cString: $0)) } ?? false
    try await LaunchMeasurement.check(program, options, baseline: path, isRecording: isRecording)
}

/// The checks of one `watchdogd measure`.
struct LaunchMeasurement {
    /// The environment variable that has baselines written.
    static let variable = "WATCHDOGD_RECORD_BASELINES"
    /// The time in milliseconds for all launches.
    private static let patience: Int32 = 600_000

    /// Measures, and writes the baseline or compares with it.
    static func check(_ program: Program, _ options: [String], baseline: String, isRecording: Bool) async throws {
        if isRecording {
            try createFolder(of: baseline)
        } else if access(baseline, R_OK) != 0 {
            throw TestSetupError("there is no baseline \(baseline); write it with \(variable)=1, and commit it")
        }
        let measurement = try await LaunchMeasurement(
            program, options + [isRecording ? "--save-baseline" : "--baseline", baseline])
        guard measurement.faults.isEmpty else {
            throw ExpectationFailure(
                "expected \(program.name) to launch as fast as \(baseline) says, but\n"
                    + measurement.faults.joined(separator: "\n"))
        }
    }

    /// Sentences about checks that failed or could not be decided, with the phases that grew.
    let faults: [String]

    private struct Answer: Decodable {
        struct Check: Decodable {
            let name: String
            let outcome: String
            let text: String
        }

        let checks: [Check]
    }

    init(_ program: Program, _ options: [String]) async throws {
        let executable = try program.path()
        let watchdogd = try Installation.watchdogd()
        let scratch = try ScratchDirectory()
        let process = try SupervisorProcess.spawn(
            watchdogd, ["measure", "--json"] + options + ["--", executable] + program.arguments,
            output: scratch["measurement.json"], errors: scratch["errors"])
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = wd_testing_reap(process, Self.patience)
                continuation.resume()
            }
        }
        let data = FileManager.default.contents(atPath: scratch["measurement.json"]) ?? Data()
        guard let answer = try? JSONDecoder().decode(Answer.self, from: data) else {
            throw TestSetupError("\(program.name) could not be measured: \(scratch.text("errors"))")
        }
        faults = Self.faults(answer.checks.map { ($0.name, $0.outcome, $0.text) })
    }

    /// Advice about phases is part of a failure, and of nothing else.
    static func faults(_ checks: [(name: String, outcome: String, text: String)]) -> [String] {
        let isFailed = checks.contains { ["failed", "unclear"].contains($0.outcome) }
        return checks.compactMap { check in
            switch check.outcome {
            case "failed": "\(check.name): \(check.text)"
            case "unclear": "\(check.name): undecided: \(check.text)"
            case "advice" where isFailed && check.name == "baseline phases": "\(check.name): \(check.text)"
            default: nil
            }
        }
    }

    private static func createFolder(of path: String) throws(TestSetupError) {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard !folder.isEmpty else { return }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw TestSetupError("cannot create \(folder)")
        }
    }
}
