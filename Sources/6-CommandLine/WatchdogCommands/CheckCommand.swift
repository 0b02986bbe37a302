// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import WatchdogConfiguration
import WatchdogDaemon
import WatchdogLaunch

/// `watchdogd check`: checks the configuration of apps without affecting any.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration files of apps.",
        discussion: """
            For a directory, checks every NAME.app in it together with its drop-ins NAME.app.d/*.conf; for a directory \
            NAME.app.d, checks the app it belongs to. Exits with 0 if all apps are valid, even with warnings, with 65 \
            if an app has an error, and with 66 if a path cannot be read.
            """
    )

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var colors: ColorOption

    @Argument(
        help: ArgumentHelp("App files, or directories of app files.", valueName: "path"), completion: .file())
    var paths: [String]

    func validate() throws {
        guard !paths.contains("") else { throw ValidationError("a path is empty; name a file or a directory") }
    }

    func run() throws {
        let fileSystem = HostFileSystem()
        let loader = ConfigurationLoader(fileSystem, specifiers: .host)
        var report = CheckReport()
        var isUnreadable = false
        for path in paths {
            do throws(ConfigurationReadError) {
                let listing: ConfigurationListing
                if !fileSystem.isDirectory(path) {
                    listing = try loader.load(file: path)
                    report.add(listing)
                } else if let app = try loader.load(dropIns: path) {
                    listing = app
                    report.add(listing)
                } else {
                    listing = try loader.load(directory: path)
                    report.add(listing, ofDirectory: path)
                }
                report.add(listing.apps.flatMap(\.machineWarnings))
            } catch {
                isUnreadable = true
                report.add(error, of: path)
            }
        }
        if json {
            StandardOutput.emit(try Self.text(report))
        } else {
            print(report.text(in: colors.style), terminator: "")
        }
        if !json { advise(about: report.apps) }
        // EX_NOINPUT, EX_DATAERR: sysexits.h.
        if isUnreadable { throw ExitCode(66) }
        if !report.isValid { throw ExitCode(65) }
    }

    /// Says on standard error which of the apps nothing in their files watches for hangs; that is no mistake.
    private func advise(about apps: [AppDefinition]) {
        let unwatched = apps.compactMap { app in
            app.configuration.flatMap { $0.saysWhatWatches ? nil : "\(app.name): \($0.probeAdvice)" }
        }
        guard !unwatched.isEmpty else { return }
        let names = unwatched.prefix(10) + (unwatched.count > 10 ? ["and \(unwatched.count - 10) more"] : [])
        // Say it after the summary.
        fflush(nil)
        StandardError.list([
            "Unless they use a client library or send WATCHDOG=1, nothing watches these apps for hangs; a probe would:"
        ])
        StandardError.list(names.map { "  \($0)" })
    }

    private static func text(_ report: CheckReport) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self) + "\n"
    }
}
