// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl
import WatchdogFleet
import WatchdogHistory
import WatchdogLaunch
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// What can be exported: a report, a line for each report, or the history of launches.
enum ExportFormat: ExpressibleByArgument, Equatable {
    case report(ReportFormat)
    /// One JSON object for each incident.
    case lines
    /// One log record of OpenTelemetry for each incident.
    case logs
    /// MetricKit's metrics, of each app and day.
    case metrics

    private static let linesName = "ndjson"
    private static let logsName = "otlp-json"
    private static let metricsName = "metrickit-metrics"

    static var allValueStrings: [String] { ReportFormat.allCases.map(\.rawValue) + [linesName, logsName, metricsName] }

    init?(argument: String) {
        switch argument {
        case Self.linesName: self = .lines
        case Self.logsName: self = .logs
        case Self.metricsName: self = .metrics
        default:
            guard let format = ReportFormat(rawValue: argument) else { return nil }
            self = .report(format)
        }
    }
}

/// `watchdogd report export`.
struct ReportExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export a crash log, one JSON line per incident, or the launch history.",
        discussion: """
            ndjson writes one flat JSON object for each incident, one per line; otlp-json writes one OpenTelemetry \
            (OTLP) log request for each. metrickit-metrics writes the launches, hangs and exits that 'watchdogd \
            serve' recorded, one object for each app and UTC day, in the form of MetricKit's metrics. None of these \
            takes a report.
            """
    )

    @OptionGroup var location: ReportsOption

    @Option(
        help: ArgumentHelp(
            "Output format: crash (text), ips, json, html, metrickit, ndjson, otlp-json or metrickit-metrics.",
            valueName: "format"))
    var format: ExportFormat

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Write to this file; - is standard output.", valueName: "file"),
        completion: .file())
    var output = "-"

    @Option(
        help: ArgumentHelp(
            "With ndjson, otlp-json or metrickit-metrics: only this app, or those that match a pattern.",
            valueName: "app"),
        completion: .appNames)
    var app: String?

    @OptionGroup var start: HistoryStart
    @OptionGroup var history: HistoryLocation
    @OptionGroup var report: ReportArgument

    func validate() throws {
        let isNamed = report.reference != ReportArgument.latest
        switch format {
        case .metrics:
            guard !isNamed, location.reports == nil, location.journal == nil, location.host == nil else {
                throw ValidationError("metrickit-metrics takes no report; select with --app, --since and --history")
            }
        case .lines, .logs:
            guard !isNamed, history.history == nil else {
                throw ValidationError("ndjson and otlp-json take no report; select with --app, --since and --host")
            }
        case .report:
            guard app == nil, start.since == nil, history.history == nil else {
                throw ValidationError(
                    "--app, --since and --history apply only to ndjson, otlp-json and metrickit-metrics")
            }
        }
    }

    private func text() throws -> String {
        switch format {
        case .report(let format):
            let report = try location.report(report.reference)
            return try Failure.reporting { try format.render(report) }
        case .lines, .logs:
            return ""
        case .metrics:
            let apps: [String?] = try app.map { try history.apps([$0]) } ?? [nil]
            return ControlText.json(
                try apps.flatMap { app in
                    try history.read(of: app) { reader throws(HistoryError) in
                        try reader.metrics(of: app, since: start.time)
                    }
                })
        }
    }

    func run() throws {
        if format == .lines || format == .logs { return try writeLines() }
        let text = try text()
        guard output != "-" else { return StandardOutput.emit(text) }
        try ExportTarget.write(text, to: output)
    }

    /// Writes one line after the other: the reports of many hosts are not held.
    private func writeLines() throws {
        let lines = try output == "-" ? nil : ExportTarget.lines(at: output)
        let filter = ReportFilter(app: app, since: start.time)
        let archive = try location.open()
        // Lines on the terminal show themselves how far it is.
        let progress = lines == nil && isatty(STDOUT_FILENO) == 1 ? nil : WorkProgress()
        try location.reading(archive, showing: progress) { archive in
            var failure: (any Error)?
            try archive.forEach(filter) { stored, result in
                do {
                    let incident = IncidentLine(of: try result.get(), host: stored.host)
                    let line = format == .logs ? IncidentLogRecord(of: incident).text : incident.text
                    guard failure == nil else { return }
                    if let lines { try lines.write(line) } else { StandardOutput.emit(line) }
                } catch let error as ReportStoreError where error.code == .damaged || error.code == .notFound {
                    progress?.clear()
                    StandardError.say(error.description)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
        if let lines { try Failure.reporting { try lines.finish() } }
    }
}
