// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore
import WatchdogSupervisor

/// `watchdogd report`.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Read crash logs.",
        subcommands: [
            ReportListCommand.self, ReportGroupCommand.self, ReportShowCommand.self, ReportExplainCommand.self,
            ReportDiffCommand.self, ReportExportCommand.self, ReportOpenCommand.self, ReportSymbolicateCommand.self,
        ],
        defaultSubcommand: ReportListCommand.self
    )
}

/// Selects the directory of reports.
struct ReportsOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Directory of crash logs (default: where run puts this user's).", valueName: "dir"),
        completion: .directory
    )
    var reports: String?

    var store: ReportStore { ReportStore(directory: reports ?? Run.defaultReportsDirectory) }

    /// All reports; none if the default directory does not exist yet because nothing has ever been reported.
    func list() throws -> [StoredReport] {
        do {
            return try store.list()
        } catch  where reports == nil && error.isMissingFolder {
            StandardError.say("no crash logs yet in \(store.directory)")
            return []
        } catch {
            throw Failure.exit(for: error)
        }
    }

    /// One report, as far as it can be read; faults are printed on standard error.
    func report(_ reference: String) throws -> Report { try read(find(reference)).report }

    /// Finds one report without reading it.
    func find(_ reference: String) throws -> StoredReport {
        let store = store
        do {
            return try store.find(reference)
        } catch  where reports == nil && error.isMissingFolder {
            StandardError.say("cannot find report: no crash logs yet in \(store.directory)")
            throw ExitCode(66)
        } catch {
            throw Failure.exit(for: error)
        }
    }

    /// Reads as much of a report as possible; faults are printed on standard error.
    func read(_ stored: StoredReport) throws -> (report: Report, isWhole: Bool) {
        let (report, faults) = try Failure.reporting { try store.salvage(stored) }
        for fault in faults {
            StandardError.say("\(stored.path.singleLine(limit: 4_096)) cannot be read completely: \(fault)")
        }
        return (report, faults.isEmpty)
    }
}

/// Filters a list of reports.
struct FilterOptions: ParsableArguments {
    /// What reports call the allowances, and the other causes of a report.
    private static let events = [
        "process-launch", "scene-create", "scene-update", "process-exit", "background-task", "suspension", "hang",
        "crash", "capture",
    ]

    @Option(help: ArgumentHelp("Show only this app.", valueName: "name"), completion: .appNames)
    var app: String?

    @Option(
        help: ArgumentHelp("Show only this event: process-launch, scene-update, ...", valueName: "event"),
        completion: .list(Self.events)
    )
    var event: String?

    @Option(help: ArgumentHelp("Show only verdicts that contain this: blocked, spinning, futex.", valueName: "word"))
    var verdict: String?

    @Option(help: ArgumentHelp("Show only what is newer: 2h, 2026-11-20, \"2026-11-20 18:30\".", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Show at most N, newest first.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        if let event, !Self.events.contains(event) {
            let question = Similarity.nearest(to: event, among: Self.events).map { "did you mean '\($0)'?" }
            let advice = question ?? "use one of \(Self.events.joined(separator: ", "))"
            throw ValidationError("--event '\(event)' is not an event; \(advice)")
        }
        if let limit, limit < 1 { throw ValidationError("--limit \(limit): use 1 or more") }
        if let since, ReportFilter.beginning(since, now: .now()) == nil {
            throw ValidationError("--since \(since): use a span (2h), a day (2026-11-20) or \"2026-11-20 18:30\"")
        }
    }

    var filter: ReportFilter {
        let beginning = since.flatMap { ReportFilter.beginning($0, now: .now()) }
        return ReportFilter(app: app, event: event, verdict: verdict, since: beginning, limit: limit)
    }
}

/// `watchdogd report list`.
struct ReportListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List crash logs, newest first.")

    @OptionGroup var location: ReportsOption
    @OptionGroup var options: FilterOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let reports = options.filter.apply(to: try location.list())
        print(json ? ReportListing.json(reports) : ReportListing.text(reports), terminator: "")
    }
}

/// `watchdogd report group`.
struct ReportGroupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Count crash logs by signature: app, event, cause and place in the app's code."
    )

    @OptionGroup var location: ReportsOption
    @OptionGroup var options: FilterOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        var reports: [Report] = []
        for stored in options.filter.apply(to: try location.list()) {
            do {
                reports.append(try location.store.salvage(stored).report)
            } catch {
                StandardError.say(error.description)
            }
        }
        let groups = ReportGroup.grouping(reports)
        print(json ? ReportGroup.json(groups) : ReportGroup.text(groups), terminator: "")
    }
}

/// `watchdogd report show`.
struct ReportShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a crash log in the classic text form."
    )

    @OptionGroup var location: ReportsOption

    @Flag(help: "Print the .ips file as it is stored.")
    var json = false

    @OptionGroup var report: ReportArgument

    func run() throws {
        let report = try location.report(report.reference)
        guard json else { return print(TextRenderer.render(report), terminator: "") }
        let bytes = try Failure.reporting { try ReportCoding.encode(report) }
        print(String(decoding: bytes, as: UTF8.self), terminator: "")
    }
}
