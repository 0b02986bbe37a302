// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import WatchdogConfiguration
import WatchdogImport
import WatchdogLaunch
import WatchdogLinux

/// `watchdogd import`: makes app files of other service managers' files.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Turn files of systemd, supervisord, runit, s6, monit or compose into app files.",
        discussion: """
            Prints the app files, and on standard error each line that it changed or dropped, with the reason. \
            Writes files only with --output or --install, and asks first. Applies a unit's drop-ins, \
            UNIT.d/*.conf.
            """
    )

    @Option(
        help: "Format of the files: systemd, supervisord, runit (also s6), monit or compose (default: detected).",
        completion: .list(ImportFormat.allCases.map(\.rawValue)),
        transform: Self.format)
    var format: ImportFormat?

    @Option(help: ArgumentHelp("The app's name, instead of that of the unit or folder.", valueName: "name"))
    var name: String?

    @Option(help: ArgumentHelp("Write the app files to this folder.", valueName: "dir"), completion: .directory)
    var output: String?

    @Flag(help: "Write them to the folder that the daemon reads.")
    var install = false

    @Flag(help: "Write without asking.")
    var yes = false

    @Flag(help: "Replace app files that exist.")
    var force = false

    @Flag(help: "Print the app files, notes and errors as JSON.")
    var json = false

    @Argument(
        help: ArgumentHelp("Files to import; for runit and s6, service folders.", valueName: "file"),
        completion: .file())
    var paths: [String]

    func validate() throws {
        guard !paths.contains("") else { throw ValidationError("a path is empty; name a file or a folder") }
        guard output != "" else { throw ValidationError("--output is empty; name a folder") }
        guard output == nil || !install else { throw ValidationError("--output and --install cannot be combined") }
        guard output != nil || install || !(yes || force) else {
            throw ValidationError("--yes and --force apply only to --output and --install")
        }
        guard name == nil || paths.count == 1 else { throw ValidationError("--name applies to a single file") }
    }

    func run() throws {
        let directory = try directory()
        var result = ImportResult()
        var failures: [ImportError] = []
        let importer = Importer(
            HostFileSystem(), specifiers: .host, workingDirectory: FileManager.default.currentDirectoryPath)
        let progress = WorkProgress()
        for (done, path) in paths.enumerated() {
            progress.show(done, of: paths.count, "importing")
            do throws(ImportError) {
                try result.add(
                    try importer.importing(path, format: format, name: name), from: path)
            } catch {
                failures.append(error)
                progress.clear()
                if !json { StandardError.list([error.description]) }
            }
        }
        progress.clear()
        StandardOutput.emit(json ? ImportReply(result, failures).json : result.apps.map(\.text).joined(separator: "\n"))
        // Print the files before the notes about them.
        if let loss = StandardOutput.flush() {
            StandardError.say(loss)
            throw ExitCode(74)
        }
        if !json {
            StandardError.list(result.notes.map(\.description))
            StandardError.list(result.apps.flatMap(\.definition.diagnostics).map(\.description))
            StandardError.list(result.apps.compactMap(\.hangAdvice))
        }
        // EX_NOINPUT, EX_DATAERR: sysexits.h.
        if let failure = failures.first(where: \.isUnreadable) ?? failures.first {
            if directory != nil { StandardError.say("nothing was written, because of the errors above") }
            throw ExitCode(failure.isUnreadable ? 66 : 65)
        }
        if !json { StandardError.say(result.summary) }
        guard !result.apps.isEmpty else { throw ExitCode(65) }
        if let directory {
            try ImportedFiles(result.apps, directory: directory).write(asks: !yes, replaces: force)
        }
    }

    private static func format(_ word: String) throws -> ImportFormat {
        if let format = ImportFormat(rawValue: word) { return format }
        let words = ImportFormat.allCases.map(\.rawValue)
        throw ValidationError("'\(word)' is not one of \(words.joined(separator: ", "))")
    }

    private func directory() throws -> String? {
        guard install else { return output }
        do {
            return try DaemonPlaces().configurationDirectory
        } catch {
            StandardError.say("\(error)")
            throw ExitCode(69)
        }
    }
}
