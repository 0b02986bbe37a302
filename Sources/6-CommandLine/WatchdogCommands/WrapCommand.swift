// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import WatchdogConfiguration
import WatchdogImport
import WatchdogLaunch
import WatchdogLinux

/// `watchdogd wrap`.
struct WrapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wrap",
        abstract: "Write a drop-in that runs a systemd service under watchdogd.",
        discussion: """
            watchdogd wrap my-server -- --probe http://127.0.0.1:8080/

            Shows the drop-in and asks before it writes. The words after -- are options of watchdogd run. Refuses a \
            unit whose readiness, reload or stop would change, and names the line. Restarts nothing.
            """
    )

    @Flag(help: "Write without asking.")
    var yes = false

    @Argument(help: ArgumentHelp("The service, such as my-server.", valueName: "unit"))
    var unit: String

    @Argument(parsing: .postTerminator, help: ArgumentHelp("Options of watchdogd run, after --.", valueName: "option"))
    var options: [String] = []

    func validate() throws {
        // The options end up in a unit, and are those of run.
        _ = try RunCommand.parse(options + ["--", "true"])
        guard !options.contains("--") else { throw ValidationError("options of watchdogd run come before a second --") }
    }

    func run() throws {
        let unit = try UnitDropIn.unit(self.unit)
        var wrapOptions = UnitWrap.Options()
        wrapOptions.program = SymbolicLink.target("/proc/self/exe") ?? wrapOptions.program
        wrapOptions.words = options
        let importer = Importer(
            HostFileSystem(), specifiers: .host, workingDirectory: FileManager.default.currentDirectoryPath)
        let wrap: UnitWrap
        do throws(ImportError) {
            wrap = try importer.wrapping(unit, wrapOptions)
        } catch {
            StandardError.list([error.description])
            throw ExitCode(error.isUnreadable ? 66 : 65)
        }
        let file = UnitDropIn(path: wrap.path)
        let old = try file.text
        guard old != wrap.text else {
            StandardError.say("\(unit) is wrapped like this already")
            return
        }
        print("\(wrap.path):\n" + UnitWrap.difference(from: old, to: wrap.text), terminator: "")
        fflush(nil)
        StandardError.list(wrap.notes.map { "note: \($0)" })
        if !yes { try Question.ask("Write this drop-in?", otherwise: "nothing was changed") }
        try file.write(wrap.text, in: wrap.directory)
        StandardError.say("wrote \(wrap.path); to apply it, run 'systemctl daemon-reload && systemctl restart \(unit)'")
    }
}

/// `watchdogd unwrap`.
struct UnwrapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unwrap", abstract: "Remove what wrap wrote, after showing it.")

    @Flag(help: "Remove without asking.")
    var yes = false

    @Argument(help: ArgumentHelp("The service, such as my-server.", valueName: "unit"))
    var unit: String

    func run() throws {
        let unit = try UnitDropIn.unit(self.unit)
        let path = "/etc/systemd/system/\(unit).d/\(UnitWrap.fileName)"
        let file = UnitDropIn(path: path)
        guard let old = try file.text else {
            StandardError.say("\(unit) is not wrapped: there is no \(path)")
            throw ExitCode(66)
        }
        guard old.hasPrefix(UnitWrap.mark) else {
            StandardError.say("\(path) was not written by watchdogd wrap; it is left alone")
            throw ExitCode(65)
        }
        print("\(path):\n" + UnitWrap.difference(from: old, to: nil), terminator: "")
        fflush(nil)
        if !yes { try Question.ask("Remove this drop-in?", otherwise: "nothing was changed") }
        try file.remove()
        StandardError.say("removed \(path); to apply it, run 'systemctl daemon-reload && systemctl restart \(unit)'")
    }
}
