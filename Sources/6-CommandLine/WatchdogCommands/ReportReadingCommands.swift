// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// Selects a report.
struct ReportArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "latest, an app's name, an incident ID or its first characters, or a file.", valueName: "report"),
        completion: .reports
    )
    var reference = Self.latest

    static let latest = "latest"
}

/// `watchdogd report explain`.
struct ReportExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain what hung, where, why and what to do about it."
    )

    @OptionGroup var location: ReportsOption
    @OptionGroup var colors: ColorOption

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var report: ReportArgument

    func run() throws {
        let explanation = Explanation(of: try location.report(report.reference))
        guard !json else { return StandardOutput.emit(explanation.json) }
        print(explanation.text(in: colors.style) { .current(at: $0.seconds) }, terminator: "")
    }
}

/// `watchdogd report diff`.
struct ReportDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what changed between two crash logs."
    )

    @OptionGroup var location: ReportsOption
    @OptionGroup var colors: ColorOption
    @OptionGroup var pager: PagerOption

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(
        help: ArgumentHelp("The older report: latest, an app's name, an incident ID or a file.", valueName: "older"),
        completion: .reports
    )
    var old: String

    @Argument(help: ArgumentHelp("The newer report.", valueName: "report"), completion: .reports)
    var new = "latest"

    func run() throws {
        let comparison = ReportComparison(try location.report(old), try location.report(new))
        guard !json else { return StandardOutput.emit(comparison.json) }
        pager.show(comparison.text(in: colors.style))
    }
}

/// `watchdogd report path`.
struct ReportPathCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "path", abstract: "Print where a crash log is stored.")

    @OptionGroup var location: ReportsOption
    @OptionGroup var report: ReportArgument

    func run() throws {
        StandardOutput.emit(try location.find(report.reference, in: try location.open()).path + "\n")
    }
}
