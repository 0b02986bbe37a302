// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogFleet
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// `watchdogd report delete`.
struct ReportDeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete crash logs.",
        discussion: """
            Lists what it would delete, and asks for confirmation. watchdogd deletes old crash logs by itself: by \
            default, it keeps the newest 500, at most 256 MiB and 90 days. To delete entries of the journal, use \
            journalctl --vacuum-time.
            """
    )

    @Option(
        help: ArgumentHelp("Delete all crash logs older than this: 30d, 12h.", valueName: "span"),
        transform: RunOptions.span)
    var olderThan: Duration?

    @Option(
        help: ArgumentHelp(
            "With --older-than: only those of this app, or of those that match a pattern.", valueName: "name"),
        completion: .appNames)
    var app: String?

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var location: ReportsOption

    @Argument(
        help: ArgumentHelp(
            "latest, an app's name (its latest), an incident ID or its first characters, or a file.",
            valueName: "report"),
        completion: .reports)
    var references: [String] = []

    func validate() throws {
        guard references.isEmpty != (olderThan == nil) else {
            throw ValidationError("name the crash logs to delete, or use --older-than")
        }
        guard app == nil || olderThan != nil else { throw ValidationError("--app requires --older-than") }
        guard location.journal == nil else {
            throw ValidationError("entries of the journal cannot be deleted here; use journalctl --vacuum-time")
        }
    }

    func run() throws {
        // Links of the administrator are followed before anything is listed, and none afterwards.
        var location = location
        location.reports = location.folder.map(canonicalPath)
        let archive = try location.open()
        let reports =
            try olderThan.map { try old(than: $0, in: archive, of: location) } ?? named(in: archive, of: location)
        guard !reports.isEmpty else {
            StandardError.say("no crash log is that old", as: .info)
            return
        }
        let number = reports.count.counted("crash log")
        if !yes {
            print(
                ReportListing.text(
                    reports, width: TerminalWidth.columns - 1, at: .current(at: WallTime.now().seconds),
                    in: ColorOption.Choice.leading.style),
                terminator: "")
            fflush(nil)
            try Question.ask("Delete \(number)?", otherwise: "nothing was deleted")
        }
        let store = ReportStore(directory: location.folder ?? ".")
        for report in reports { try Failure.reporting { try store.delete(report) } }
        StandardError.say("deleted \(number)", as: .info)
    }

    private func old(
        than span: Duration, in archive: ReportArchive, of location: ReportsOption
    ) throws -> [StoredReport] {
        let list = try location.reading(archive) { try $0.list(ReportFilter(app: app), atMost: nil) }
        let now = WallTime.now()
        return (list?.reports ?? []).filter { now.since($0.modified) > span }
    }

    private func named(in archive: ReportArchive, of location: ReportsOption) throws -> [StoredReport] {
        var reports: [StoredReport] = []
        for reference in references {
            let name = reference.contains("/") ? canonicalPath(reference) : reference
            let report = try location.find(name, in: archive)
            guard report.isInStore || report.metadata?.bugType == ReportMetadata.crash else {
                StandardError.say("\(report.path.singleLine(limit: 4_096)) is not a crash log; use rm to delete it")
                throw ExitCode(65)
            }
            if !reports.contains(where: { $0.path == report.path }) { reports.append(report) }
        }
        return reports
    }
}
