// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogFleet
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// `watchdogd report`.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Read crash logs.",
        subcommands: [
            ReportListCommand.self, ReportGroupCommand.self, ReportShowCommand.self, ReportExplainCommand.self,
            ReportDiffCommand.self, ReportExportCommand.self, ReportOpenCommand.self, ReportPathCommand.self,
            ReportSymbolicateCommand.self, ReportCoreCommand.self, ReportDeleteCommand.self,
        ],
        defaultSubcommand: ReportListCommand.self
    )
}

/// Filters a list of reports.
struct FilterOptions: ParsableArguments {
    /// What reports call the allowances, and the other causes of a report.
    private static let events = [
        "process-launch", "scene-create", "scene-update", "process-exit", "background-task", "suspension", "hang",
        "crash", "capture",
    ]

    @Option(
        help: ArgumentHelp("Show only this app, or those that match a pattern such as 'web*'.", valueName: "name"),
        completion: .appNames)
    var app: String?

    @Option(
        help: ArgumentHelp(
            "Show only this event: 'did not answer', 'not ready', process-exit, ...", valueName: "event"),
        completion: .list(Self.events)
    )
    var event: String?

    @Option(help: ArgumentHelp("Show only verdicts that contain this: blocked, spinning, futex.", valueName: "word"))
    var verdict: String?

    @Option(
        help: ArgumentHelp(
            "Show only crash logs newer than this: 2h, 2026-11-20, \"2026-11-20 18:30\".", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Show at most N, newest first.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        // Also as lists show them.
        let known = Self.events + Self.events.map(EventWords.omission).filter { !Self.events.contains($0) }
        if let event, !known.contains(event) {
            let question = Similarity.nearest(to: event, among: known).map { "did you mean '\($0)'?" }
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
    @OptionGroup var colors: ColorOption
    @OptionGroup var pager: PagerOption

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let archive = try location.open()
        // The list of many hosts is longer than anyone reads.
        let limit = json ? options.limit : options.limit ?? ReportListing.usualLimit
        let list = try location.reading(archive) { try $0.list(options.filter, atMost: limit) }
        let reports = list?.reports ?? []
        guard !json else { return StandardOutput.emit(ReportListing.json(reports)) }
        guard !reports.isEmpty else { return print(options.absence(in: location), terminator: "") }
        let text = ReportListing.text(
            reports, width: colors.style.columns ?? .max,
            showsHosts: archive.hasJournal || reports.contains { $0.host != nil }, showsUsers: location.allUsers,
            at: .current(at: WallTime.now().seconds), in: colors.style)
        pager.show(text)
        if options.limit == nil, list?.isCut == true {
            StandardError.say("only the newest \(reports.count) are listed; --limit lists more")
        }
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
    @OptionGroup var colors: ColorOption
    @OptionGroup var pager: PagerOption

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let result = try location.reading(try location.open(), showing: WorkProgress()) {
            try $0.groups(options.filter)
        }
        for failure in result?.failures ?? [] { StandardError.say(failure.description) }
        let groups = result?.groups ?? []
        guard !json else { return StandardOutput.emit(ReportGroup.json(groups)) }
        guard !groups.isEmpty || result?.failures.isEmpty == false else {
            return print(options.absence(in: location), terminator: "")
        }
        pager.show(ReportGroup.text(groups, at: .current(at: WallTime.now().seconds), in: colors.style))
    }
}

/// `watchdogd report show`.
struct ReportShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a crash log in the classic text form."
    )

    @OptionGroup var location: ReportsOption
    @OptionGroup var colors: ColorOption
    @OptionGroup var pager: PagerOption

    @Flag(help: "Print the .ips file as it is stored.")
    var json = false

    @OptionGroup var report: ReportArgument

    func run() throws {
        let report = try location.report(report.reference)
        guard json else { return pager.show(TextRenderer.render(report, in: colors.style)) }
        let bytes = try Failure.reporting { try ReportCoding.encode(report) }
        StandardOutput.emit(String(decoding: bytes, as: UTF8.self))
    }
}
