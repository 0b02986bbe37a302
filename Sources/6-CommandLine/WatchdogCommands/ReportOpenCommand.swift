// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogLaunch
import WatchdogRendering
import WatchdogReportStore

/// `watchdogd report open`.
struct ReportOpenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Show a crash log in the browser; without a display, write the page and print its path."
    )

    @OptionGroup var location: ReportsOption
    @OptionGroup var report: ReportArgument

    @Flag(help: "Also show the program's environment. Check for secrets before you share the page.")
    var environment = false

    func run() throws {
        let page = HTMLRenderer.render(try location.report(report.reference), showsEnvironment: environment)
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
