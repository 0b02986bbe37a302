// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogFleet
import WatchdogLaunch
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// `watchdogd report symbolicate`.
struct ReportSymbolicateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "symbolicate",
        abstract: "Symbolicate a crash log with debug files found later.",
        discussion: """
            Uses a debug file only if its build ID matches the one in the crash log. Reports on standard error what it \
            found and what it did not find.
            """
    )

    @OptionGroup var location: ReportsOption

    @Option(
        help: ArgumentHelp(
            "Directory of debug files: .build-id/ab/cdef.debug, PROGRAM.debug or any subdirectory; may be "
                + "repeated (default: /usr/lib/debug).", valueName: "dir"),
        completion: .directory)
    var debugDir: [String] = []

    @Flag(help: "Ask the servers in $DEBUGINFOD_URLS for missing files.")
    var debuginfod = false

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Write the .ips file here; - prints the text.", valueName: "file"),
        completion: .file())
    var output = "-"

    @Flag(help: "Replace the crash log with the symbolicated one.")
    var inPlace = false

    @Flag(help: "Print the .ips file instead of the text.")
    var json = false

    @OptionGroup var report: ReportArgument

    func validate() throws {
        guard inPlace else { return }
        if output != "-" { throw ValidationError("--in-place and --output cannot be combined") }
        if json { throw ValidationError("--in-place prints nothing; leave out --json") }
    }

    func run() throws {
        let archive = try location.open()
        let stored = try location.find(report.reference, in: archive)
        let (whole, isWhole) = try location.read(stored, in: archive)
        if inPlace, stored.entry != nil {
            StandardError.say("cannot replace a crash log in the journal: use --output")
            throw ExitCode(64)
        }
        if inPlace, !isWhole {
            StandardError.say("cannot replace a damaged crash log with what is left of it: use --output")
            throw ExitCode(65)
        }
        let result: ReportSymbolication.Result
        do {
            let line = ProgressLine()
            defer { line.clear() }
            result = try ReportSymbolication(directories: debugDir, usesDebuginfod: debuginfod).run(
                whole, progress: line.show)
        } catch let error as RunError {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
        for line in result.account { StandardError.say(line) }
        try write(result, over: stored)
    }

    private func write(_ result: ReportSymbolication.Result, over stored: StoredReport) throws {
        if inPlace {
            guard result.outcome.isChange else { return }
            return try Failure.reporting {
                try ReportStore(directory: location.folder ?? ".").replace(stored, with: result.report)
            }
        }
        guard output != "-" || json else { return print(TextRenderer.render(result.report), terminator: "") }
        let bytes = try Failure.reporting { try ReportCoding.encode(result.report) }
        let text = String(decoding: bytes, as: UTF8.self)
        guard output != "-" else { return StandardOutput.emit(text) }
        try ExportTarget.write(text, to: output)
    }
}
