// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore

/// `watchdogd report core`.
struct ReportCoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "core",
        abstract: "Write the stacks kept with a crash log as a core file, for a debugger.",
        discussion: """
            gdb, lldb and eu-stack open the file with the program at hand: gdb PROGRAM FILE. Stacks are kept only with \
            KeepStacks=yes in the app's file (run: --keep-stacks). The file is memory of the program, and nothing in it \
            is redacted.
            """
    )

    @OptionGroup var location: ReportsOption

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write to this new file; - is standard output, if that is no terminal.", valueName: "file"),
        completion: .file())
    var output = "-"

    @Flag(help: "Replace the file if there is one.")
    var force = false

    @OptionGroup var report: ReportArgument

    func validate() throws {
        guard !force || output != "-" else { throw ValidationError("--force requires --output") }
        guard output != "" else { throw ValidationError("--output is empty; name a file") }
    }

    func run() throws {
        guard output != "-" || isatty(STDOUT_FILENO) == 0 else {
            StandardError.say("a core file is not for a terminal: use --output FILE")
            throw ExitCode(64)
        }
        let stored = try location.find(report.reference, in: try location.open())
        guard stored.entry == nil else {
            StandardError.say("the journal keeps no stacks; they are on the machine that wrote the crash log")
            throw ExitCode(66)
        }
        let store = ReportStore(directory: location.folder ?? ".")
        guard let core = try Failure.reporting({ try store.core(of: stored, limit: ReportCore.limit) }) else {
            StandardError.say(
                "no stacks were kept with \(stored.path.singleLine(limit: 4_096)); KeepStacks=yes in the app's file "
                    + "(run: --keep-stacks) keeps those of the next crash logs")
            throw ExitCode(66)
        }
        guard output != "-" else { return try print(core) }
        try ExportTarget.write(core, toNew: output, replacing: force)
        StandardError.say("wrote \(output.singleLine(limit: 4_096)); open it with: gdb PROGRAM FILE", as: .info)
    }

    private func print(_ core: [UInt8]) throws {
        do throws(Errno) {
            try writeAll(core, to: STDOUT_FILENO)
        } catch {
            StandardError.say("cannot write to standard output: \(String(cString: strerror(error.rawValue)))")
            throw ExitCode(74)
        }
    }
}
