// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Glibc
public import WatchdogReport
import WatchdogSupervisor

extension ReportFormat: ExpressibleByArgument {}

/// `watchdogd report export`.
struct ReportExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a crash log in another form."
    )

    @OptionGroup var location: ReportsOption

    @Option(help: ArgumentHelp("crash (text), ips, json, html or metrickit.", valueName: "format"))
    var format: ReportFormat

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Where to; - is standard output.", valueName: "file"),
        completion: .file())
    var output = "-"

    @OptionGroup var report: ReportArgument

    func run() throws {
        let report = try location.report(report.reference)
        let text = try Failure.reporting { try format.render(report) }
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

    /// Waits until xdg-open has handed the page over, so that its errors stand before the shell's prompt.
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
