// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl
import WatchdogHistory
import WatchdogRendering
import WatchdogReportStore
import WatchdogSupervisor

/// What can be exported: a report, or the history of launches.
enum ExportFormat: ExpressibleByArgument, Equatable {
    case report(ReportFormat)
    /// MetricKit's metrics, of each app and day.
    case metrics

    private static let metricsName = "metrickit-metrics"

    static var allValueStrings: [String] { ReportFormat.allCases.map(\.rawValue) + [metricsName] }

    init?(argument: String) {
        if argument == Self.metricsName {
            self = .metrics
        } else if let format = ReportFormat(rawValue: argument) {
            self = .report(format)
        } else {
            return nil
        }
    }
}

/// `watchdogd report export`.
struct ReportExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a crash log in another format, or the launch history.",
        discussion: """
            metrickit-metrics takes no report: it writes the launches, hangs and exits that 'watchdogd serve' \
            recorded, one object for each app and UTC day, in the form of MetricKit's metrics.
            """
    )

    @OptionGroup var location: ReportsOption

    @Option(
        help: ArgumentHelp(
            "Output format: crash (text), ips, json, html, metrickit or metrickit-metrics.", valueName: "format"))
    var format: ExportFormat

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Write to this file; - is standard output.", valueName: "file"),
        completion: .file())
    var output = "-"

    @Option(help: ArgumentHelp("With metrickit-metrics: only this app.", valueName: "app"), completion: .appNames)
    var app: String?

    @OptionGroup var start: HistoryStart
    @OptionGroup var history: HistoryLocation
    @OptionGroup var report: ReportArgument

    func validate() throws {
        if format == .metrics {
            guard report.reference == ReportArgument.latest, location.reports == nil, location.journal == nil
            else {
                throw ValidationError("metrickit-metrics takes no report; select with --app, --since and --history")
            }
        } else if app != nil || start.since != nil || history.history != nil {
            throw ValidationError("--app, --since and --history apply only to --format metrickit-metrics")
        }
    }

    private func text() throws -> String {
        switch format {
        case .report(let format):
            let report = try location.report(report.reference)
            return try Failure.reporting { try format.render(report) }
        case .metrics:
            return ControlText.json(
                try history.read(of: app) { reader throws(HistoryError) in
                    try reader.metrics(of: app, since: start.time)
                })
        }
    }

    func run() throws {
        let text = try text()
        guard output != "-" else { return print(text, terminator: "") }
        try Failure.reporting { try ExportedFile.write(text, to: output) }
    }
}

/// `watchdogd report open`.
struct ReportOpenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Show a crash log in the browser; without a display, write the page and print its path."
    )

    @OptionGroup var location: ReportsOption
    @OptionGroup var report: ReportArgument

    func run() throws {
        let page = HTMLRenderer.render(try location.report(report.reference))
        let folder = Self.variable("TMPDIR") ?? "/tmp"
        let path = try Failure.reporting { try ExportedFile.create(page, in: folder, suffix: ".html") }
        print(path)
        let hasDisplay = Self.variable("DISPLAY") != nil || Self.variable("WAYLAND_DISPLAY") != nil
        guard hasDisplay else { return }
        if !Self.browse(path) { StandardError.say("cannot run xdg-open: open \(path) in a browser") }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Waits until xdg-open has passed the page on, so that its errors appear before the shell's prompt.
    private static func browse(_ path: String) -> Bool {
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("xdg-open"), strdup(path), nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        guard posix_spawnp(&child, "xdg-open", nil, nil, arguments, environ) == 0 else { return false }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }
}
