// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Makes apps of monit's `check process` stanzas: monit(1).
struct MonitImport {
    private let file: ConfigurationFile
    private let specifiers: Specifiers
    /// The time between two checks: `set daemon`; that of Debian's monitrc if the file does not say.
    private var cycle = Duration.seconds(120)
    private var result = ImportResult()

    static func result(file: ConfigurationFile, specifiers: Specifiers) throws(ImportError) -> ImportResult {
        var reading = MonitImport(file: file, specifiers: specifiers)
        return try reading.read()
    }

    private init(file: ConfigurationFile, specifiers: Specifiers) {
        self.file = file
        self.specifiers = specifiers
    }

    private mutating func read() throws(ImportError) -> ImportResult {
        let statements = try MonitFile(file).statements
        if let token = statements.first(where: { $0.first == "set" && $0.has("daemon") })?.after("daemon"),
            let seconds = Int(token.text), (1...86_400).contains(seconds)
        {
            cycle = .seconds(seconds)
        }
        var index = 0
        while index < statements.count {
            let head = statements[index]
            index += 1
            guard head.first == "check" else {
                note(head)
                continue
            }
            let end = statements[index...].firstIndex { ["check", "set", "include"].contains($0.first) }
            let body = statements[index..<(end ?? statements.count)]
            index = end ?? statements.count
            if let name = head.after("process") {
                try importProcess(head, name, Array(body))
            } else {
                skip(head, "is not a process; leave it to monit")
            }
        }
        return result
    }

    private mutating func note(_ statement: MonitFile.Statement) {
        guard statement.first == "include" else {
            guard !statement.has("daemon") else { return }
            let message = "\(statement.shown): is about monit itself"
            return result.notes.append(ImportNote(kind: .dropped, place: statement.place, message: message))
        }
        skip(statement, "names more files; give them to this command too")
    }

    private mutating func skip(_ statement: MonitFile.Statement, _ reason: String) {
        let message = "\(statement.shown): \(reason)"
        result.notes.append(ImportNote(kind: .skipped, place: statement.place, message: message))
    }

    // MARK: - A process

    private mutating func importProcess(
        _ head: MonitFile.Statement, _ token: MonitFile.Token, _ body: [MonitFile.Statement]
    ) throws(ImportError) {
        guard let name = try? AppName(token.text) else {
            throw ImportError(
                token.place,
                "\(Printable.quoted(token.text)) cannot be an app's name; use letters, digits, \"-\", \"_\" and \".\"")
        }
        var draft = AppDraft(name: name, origin: file.path, specifiers: specifiers)
        try putStart(body.first { $0.first == "start" }, head, &draft)
        // monit starts a process again whenever it is gone.
        draft.set(.policy, "always")
        for statement in body where statement.first != "start" {
            if statement.first == "if" {
                MonitTest(statement, cycle: cycle).put(into: &draft)
            } else {
                put(statement, &draft)
            }
        }
        result.apps.append(try draft.finished())
        result.notes += draft.notes
    }

    private func putStart(
        _ start: MonitFile.Statement?, _ head: MonitFile.Statement, _ draft: inout AppDraft
    ) throws(ImportError) {
        guard let start, let command = start.tokens.first(where: \.isQuoted) ?? start.tokens.dropFirst().first else {
            throw ImportError(head.place, "\(head.shown) has no start program, and so no command to run")
        }
        let words: [String]
        do throws(ShellWords.Invalid) {
            words = try ShellWords.split(command.text)
        } catch {
            throw ImportError(command.place, "start program: \(error.message)")
        }
        if let fault = draft.put(.execStart, UnitText.command(words)) {
            throw ImportError(command.place, "start program: \(fault)")
        }
        draft.note(.toDo, at: start.place, Self.advice(words))
        if let user = start.after("uid") { draft.carry(.user, user.text, of: "uid \(user.text)", at: user.place) }
        if let group = start.after("gid") { draft.carry(.group, group.text, of: "gid \(group.text)", at: group.place) }
        if let time = start.after("timeout") {
            draft.carry(.launch, "\(time.text)s", of: "timeout \(time.text)", at: time.place)
        }
    }

    /// monit's programs return once they have started the process, so that none stays in the foreground.
    private static func advice(_ words: [String]) -> String {
        let last = words.last { $0 != "start" && !$0.hasPrefix("-") } ?? ""
        switch words.first?.split(separator: "/").last {
        case "systemctl":
            let unit = last.hasSuffix(".service") ? last : last + ".service"
            return "systemd starts it: import \(unit) instead, and add the Probe= of this file"
        case "service":
            return "a script starts it: set ExecStart= to the program itself, kept in the foreground"
        default:
            let hint = ForegroundHint.option(of: words.first ?? "").map { " (\($0))" } ?? ""
            return "set ExecStart= to a command that stays in the foreground\(hint)"
        }
    }

    private func put(_ statement: MonitFile.Statement, _ draft: inout AppDraft) {
        func drop(_ reason: String) { draft.note(.dropped, at: statement.place, "\(statement.shown): \(reason)") }
        switch statement.first {
        case "stop": drop("has no counterpart: an app ends at SIGTERM")
        case "restart": drop("has no counterpart: a restart is an end and a launch")
        case "group": drop("apps have no groups")
        case "depends": drop("apps do not depend on each other")
        case "every", "not": drop("an app is watched all the time")
        case "alert", "noalert": drop("incidents are in the journal and in reports; no mail is sent")
        case "mode" where statement.has("active"), "onreboot" where statement.has("start"): break
        case "mode", "onreboot":
            draft.set(.enabled, "no")
            draft.note(.changed, at: statement.place, "\(statement.shown) became Enabled=no")
        default: drop("has no counterpart")
        }
    }
}
