// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogDaemon
import WatchdogHistory
import WatchdogLaunch

/// Where a run keeps its launch.
struct RunHistoryOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Also record the launch in this history file, which 'watchdogd launches' reads.", valueName: "file"),
        completion: .file())
    var history: String?

    func validate() throws {
        guard history != "" else { throw ValidationError("--history is empty; give it a file or leave it out") }
    }

    var settings: HistorySettings? { history.map { HistorySettings(path: $0) } }
}

/// Where a daemon keeps launches, and how many.
struct HistoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Record launches in this file.", valueName: "file"),
        completion: .file())
    var history: String?

    @Flag(help: "Do not record launches.")
    var noHistory = false

    @Option(help: ArgumentHelp("Keep launches for this long.", valueName: "time"))
    var historyAge = "400d"

    @Option(help: ArgumentHelp("Largest size of the launch history, in megabytes.", valueName: "MB"))
    var historySize = 200

    func validate() throws {
        guard history != "" else { throw ValidationError("--history is empty; give it a file or leave it out") }
        guard history == nil || !noHistory else {
            throw ValidationError("--history and --no-history cannot be combined")
        }
        guard (1...1_000_000).contains(historySize) else {
            throw ValidationError("--history-size \(historySize) is out of range; use a number from 1 to 1000000")
        }
        guard try Self.span(historyAge, of: "--history-age") >= .seconds(86_400) else {
            throw ValidationError("--history-age \(historyAge) is too short; use at least 1 d")
        }
    }

    /// The settings; nil if no launches are kept.
    func settings(places: DaemonPlaces) throws -> HistorySettings? {
        guard !noHistory else { return nil }
        return HistorySettings(
            path: history ?? places.historyPath,
            limits: HistoryStore.Limits(
                age: try Self.span(historyAge, of: "--history-age"), bytes: Int64(historySize) * 1_000_000))
    }

    /// A time span on the command line.
    static func span(_ text: String, of option: String) throws -> Duration {
        do {
            return try TimeSpan.parse(text)
        } catch {
            throw ValidationError("\(option): \(error)")
        }
    }
}
