// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import WatchdogConfiguration
import WatchdogImport
import WatchdogLinux
import WatchdogSupervisor

/// `watchdogd wrap`.
struct WrapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wrap",
        abstract: "Run the command of a systemd unit under watchdogd, by a drop-in.",
        discussion: """
            watchdogd wrap nginx -- --probe http://127.0.0.1/

            Shows the drop-in and asks before it writes. What follows -- are options of watchdogd run. Readiness, \
            reload and stop keep their meaning; a unit that cannot keep them is refused with the line that is in the \
            way. Nothing is restarted.
            """
    )

    @Flag(help: "Write without a question.")
    var yes = false

    @Argument(help: ArgumentHelp("The service, such as nginx.", valueName: "unit"))
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
        wrapOptions.words = options.map(Self.quoted)
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
        try UnitDropIn.ask("Write this drop-in?", yes: yes)
        try file.write(wrap.text, in: wrap.directory)
        StandardError.say("wrote \(wrap.path); 'systemctl daemon-reload && systemctl restart \(unit)' puts it in force")
    }

    /// A word as a unit has to write it: systemd.syntax(7), systemd.service(5).
    private static func quoted(_ word: String) -> String {
        let escaped = word.flatMap { character -> String in
            switch character {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "%": "%%"
            case "$": "$$"
            default: String(character)
            }
        }
        let isPlain = !word.isEmpty && !word.contains { " \t;'\"\\".contains($0) }
        return isPlain ? String(escaped) : "\"\(String(escaped))\""
    }
}

/// `watchdogd unwrap`.
struct UnwrapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unwrap", abstract: "Remove what wrap wrote, after showing it.")

    @Flag(help: "Remove without a question.")
    var yes = false

    @Argument(help: ArgumentHelp("The service, such as nginx.", valueName: "unit"))
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
        try UnitDropIn.ask("Remove this drop-in?", yes: yes)
        try file.remove()
        StandardError.say("removed \(path); 'systemctl daemon-reload && systemctl restart \(unit)' puts it in force")
    }
}
