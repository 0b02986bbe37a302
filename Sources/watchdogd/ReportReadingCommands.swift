// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogRendering

/// Selects a report.
struct ReportArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("latest, an incident identifier or its beginning, or a file.", valueName: "report"),
        completion: .reports
    )
    var reference = Self.latest

    static let latest = "latest"
}

/// `watchdogd report explain`.
struct ReportExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say who hung, on what, whose fault it is and what to do, on one screen."
    )

    @OptionGroup var location: ReportsOption

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var report: ReportArgument

    func run() throws {
        let explanation = Explanation(of: try location.report(report.reference))
        print(json ? explanation.json : explanation.text, terminator: "")
    }
}

/// `watchdogd report diff`.
struct ReportDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Say what changed from one crash log to another."
    )

    @OptionGroup var location: ReportsOption

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(
        help: ArgumentHelp("The older one: latest, an incident identifier or a file.", valueName: "report"),
        completion: .reports
    )
    var old: String

    @Argument(help: ArgumentHelp("The newer one.", valueName: "report"), completion: .reports)
    var new = "latest"

    func run() throws {
        let comparison = ReportComparison(try location.report(old), try location.report(new))
        print(json ? comparison.json : comparison.text, terminator: "")
    }
}
