// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogControl
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering
import WatchdogRun

/// What `watchdogd launches` groups by.
enum LaunchGrouping: String, ExpressibleByArgument, CaseIterable {
    case version, host, kind, cause

    var key: LaunchGroup.Key {
        switch self {
        case .version: .version
        case .host: .host
        case .kind: .kind
        case .cause: .cause
        }
    }
}

/// Selects the history that a command reads.
struct HistoryLocation: ParsableArguments {
    @Option(
        help: ArgumentHelp("Read this launch history file (default: the daemon's).", valueName: "file"),
        completion: .file())
    var history: String?

    func validate() throws {
        guard history != "" else { throw ValidationError("--history is empty; give it a file or leave it out") }
    }

    /// Reads the history beside the daemon: the mode of its file says who may, and the loop has no work with it.
    ///
    /// - Parameter app: must be in the history; nil for all apps.
    func read<Value>(of app: String?, _ body: (HistoryReader) throws(HistoryError) -> Value) throws -> Value {
        do {
            let reader = try HistoryReader(path: history ?? DaemonPlaces.historyPath())
            if let app { try check(app, in: reader) }
            return try body(reader)
        } catch let error as HistoryError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// The apps of the history that names and patterns stand for.
    func apps(_ names: [String]) throws -> [String] {
        let known = try read(of: nil) { reader throws(HistoryError) in try reader.apps() }
        return try AppNames(names).matches(among: known, listedBy: "watchdogd launches")
    }

    private func check(_ app: String, in reader: HistoryReader) throws {
        let apps = try reader.apps()
        guard !apps.contains(app) else { return }
        let question = Similarity.nearest(to: app, among: apps).map { "; did you mean \($0)?" }
        StandardError.say(
            "there is no launch of \(app) in the history" + (question ?? "; 'watchdogd launches' lists the apps"))
        throw ExitCode(66)
    }
}

/// Selects the part of the history that a command reads.
struct HistoryStart: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Show only what happened since: a span (7d), a day (2026-11-20) or a time.", valueName: "time"))
    var since: String?

    func validate() throws {
        if let since, time == nil {
            throw ValidationError("--since \(since): use a span (2h), a day (2026-11-20) or \"2026-11-20 18:30\"")
        }
    }

    var time: WallTime? { since.flatMap { ReportFilter.beginning($0, now: .now()) } }
}

/// `watchdogd launches`.
struct LaunchesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launches",
        abstract: "Show how long apps took to launch, by version, host, kind or cause.",
        discussion: """
            Reads the history that 'watchdogd serve' keeps, and prints the number of launches, the number that never \
            became ready, the 50th, 90th and 99th percentiles of their times, how long each phase took, and a histogram. \
            Without an app, prints one line for each, and no phases.
            """
    )

    @OptionGroup var location: HistoryLocation
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    @OptionGroup var start: HistoryStart

    @Option(help: ArgumentHelp("Group launches by version, host, kind or cause.", valueName: "what"))
    var by: LaunchGrouping?

    @Argument(help: .apps("Names of apps (default: all apps)"), completion: .appNames)
    var apps: [String] = []

    func run() throws {
        guard !apps.isEmpty else { return try pager.show(text(of: nil)) }
        var whole = ""
        defer { pager.show(whole) }
        try AppNames.each(location.apps(apps)) { app in
            let part = try text(of: app)
            if !whole.isEmpty, !output.json { whole += "\n" }
            whole += part
        }
    }

    private func text(of app: String?) throws -> String {
        let key = by?.key ?? (app == nil ? .app : .version)
        let table = try location.read(of: app) { reader throws(HistoryError) in
            try reader.launches(of: app, since: start.time, by: key)
        }
        guard !output.json else { return ControlText.json(LaunchesReply(table)) }
        let text = LaunchesText(columns: output.style.columns, isUnicode: Locale.isUnicode) {
            .current(at: $0.seconds)
        }
        return text.text(table)
    }
}

extension HistoryError {
    /// EX_NOINPUT, EX_NOPERM, EX_DATAERR, or EX_IOERR.
    var exitCode: Int32 {
        switch code {
        case .notFound: 66
        case .notReadable: 77
        case .damaged, .foreign, .newer: 65
        case .full, .failed: 74
        }
    }
}
