// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogReport
import WatchdogSupervisor

/// `watchdogd report`.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Read crash logs.",
        subcommands: [ReportListCommand.self, ReportShowCommand.self],
        defaultSubcommand: ReportListCommand.self
    )
}

/// Where reports are read from.
struct ReportsOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Where crash logs are; by default where run puts those of this user.", valueName: "dir")
    )
    var reports: String?

    var store: ReportStore { ReportStore(directory: reports ?? Run.defaultReportsDirectory) }
}

/// `watchdogd report list`.
struct ReportListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List crash logs, newest first.")

    @OptionGroup var location: ReportsOption

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let reports = try Failure.reporting { try location.store.list() }
        print(json ? ReportListing.json(reports) : ReportListing.text(reports), terminator: "")
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

    @Argument(help: ArgumentHelp("latest, an incident identifier or its beginning, or a file.", valueName: "report"))
    var reference = "latest"

    func run() throws {
        let store = location.store
        let report = try Failure.reporting { try store.read(try store.find(reference)) }
        if json {
            print(
                String(decoding: try Failure.reporting { try ReportCoding.encode(report) }, as: UTF8.self),
                terminator: "")
        } else {
            print(TextRenderer.render(report), terminator: "")
        }
    }
}
