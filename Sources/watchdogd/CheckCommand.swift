// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import WatchdogConfiguration
import WatchdogSupervisor

/// `watchdogd check`: checks the configuration of apps without affecting any.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration of apps.",
        discussion: """
            Of a directory every NAME.app is checked, each together with its drop-ins NAME.app.d/*.conf; of a directory \
            NAME.app.d the app to which it belongs. Ends with 0 when all are valid, also with \
            warnings, with 65 when there is an error in one, with 66 when a path cannot be read.
            """
    )

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(
        help: ArgumentHelp("Files of apps, or directories of such files.", valueName: "path"), completion: .file())
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
        print(json ? try Self.text(report) : report.text, terminator: "")
        // EX_NOINPUT, EX_DATAERR: sysexits.h.
        if isUnreadable { throw ExitCode(66) }
        if !report.isValid { throw ExitCode(65) }
    }

    private static func text(_ report: CheckReport) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self) + "\n"
    }
}
