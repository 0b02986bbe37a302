// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogFleet
import WatchdogLaunch
import WatchdogLinux
import WatchdogReportStore
import WatchdogRun

/// `watchdogd organizer`.
struct OrganizerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "organizer",
        abstract: "Compare versions and hosts: hangs, launches, terminations and the most frequent faults.",
        discussion: """
            Reads crash logs from folders and journals, incidents from lines of JSON, launches, hangs and exits from \
            histories, and hang rates and launch times from Prometheus. If you name no source, reads your crash logs \
            and the daemon's history. Marks faults that are new in the latest version, and those that occur more \
            often than before.
            """
    )

    @OptionGroup var location: ReportsOption

    @Option(
        name: .customLong("ndjson"),
        help: ArgumentHelp(
            "Read incidents that 'report export --format ndjson' wrote; - is standard input. May be repeated.",
            valueName: "file"),
        completion: .file())
    var lines: [String] = []

    @Option(
        help: ArgumentHelp("Read this launch history file. May be repeated, one for each host.", valueName: "file"),
        completion: .file())
    var history: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read hang rates and launch times of each version on all hosts, as recorded by the rules of this"
                + " Prometheus.",
            valueName: "url"))
    var prometheus: String?

    @OptionGroup var start: HistoryStart

    @Option(
        help: ArgumentHelp("Only this app, or those that match a pattern such as 'web*'.", valueName: "app"),
        completion: .appNames)
    var app: String?

    @Option(help: ArgumentHelp("List at most this many signatures and hosts for each app.", valueName: "n"))
    var top = 10

    @Option(help: ArgumentHelp("Write a page with charts to this file; - is standard output.", valueName: "file"))
    var html: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOption

    func validate() throws {
        guard (1...1_000).contains(top) else {
            throw ValidationError("--top \(top) is out of range; use a number from 1 to 1000")
        }
        guard html != "", !lines.contains(""), !history.contains("") else {
            throw ValidationError("an option is empty: --html, --ndjson and --history take a file")
        }
        guard html != "-" || !output.json else {
            throw ValidationError("--html - and --json both write to standard output; give --html a file")
        }
        if let prometheus {
            do throws(WebAddress.ParsingError) {
                _ = try WebAddress(parsing: prometheus)
            } catch {
                throw ValidationError("--prometheus \(prometheus.singleLine(limit: 200)) \(error.reason)")
            }
        }
        guard lines.count(where: { $0 == "-" }) < 2 else {
            throw ValidationError("--ndjson - can be given only once: standard input can be read only once")
        }
    }

    func run() throws {
        let organizer = Organizer(now: .now())
        var sources = OrganizerSources(location: location, lines: lines, history: history)
        sources.app = app
        sources.since = start.time
        sources.prometheus = prometheus.flatMap { try? WebAddress(parsing: $0) }
        try sources.read(into: organizer)
        let table = OrganizerTable(organizer, OrganizerTable.Extent(signatures: top, hosts: top))
        if output.json { StandardOutput.emit(OrganizerReply(table).json) }
        guard let html else {
            guard !output.json else { return }
            let text = OrganizerText(columns: output.style.columns ?? .max, isUnicode: Locale.isUnicode)
            return pager.show(text.text(table))
        }
        let page = OrganizerPage.render(table)
        guard html != "-" else { return StandardOutput.emit(page) }
        try ExportTarget.write(page, to: html)
    }
}
