// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Converts monit's `check process` stanzas to apps: monit(1).
struct MonitImport {
    private let file: ConfigurationFile
    private let specifiers: Specifiers
    private var times = MonitTimes()
    /// The statement `set onreboot`, the default for services without their own.
    private var onReboot: MonitFile.Statement?
    private var result = ImportResult()

    /// Imports a control file.
    ///
    /// - Parameter search: finds the files for a pattern of `include`, an absolute path with wildcards.
    static func result(
        file: ConfigurationFile, specifiers: Specifiers, matching search: MonitFile.Search
    ) throws(ImportError) -> ImportResult {
        var reading = MonitImport(file: file, specifiers: specifiers)
        return try reading.read(search)
    }

    private init(file: ConfigurationFile, specifiers: Specifiers) {
        self.file = file
        self.specifiers = specifiers
    }

    private mutating func read(_ search: MonitFile.Search) throws(ImportError) -> ImportResult {
        let contents = try MonitFile(file, matching: search)
        result.notes += contents.notes
        let statements = contents.statements
        // The last `set daemon` wins, at any position.
        if let seconds = statements.last(where: { Self.isDaemon($0) })?.after("daemon")?.count,
            (1...86_400).contains(seconds)
        {
            times.cycle = .seconds(seconds)
        }
        var index = 0
        while index < statements.count {
            let head = statements[index]
            index += 1
            guard head.first == "check" else {
                take(head)
                continue
            }
            let end = statements[index...].firstIndex { ["check", "set"].contains($0.first) } ?? statements.count
            let body = Array(statements[index..<end])
            index = end
            if let name = Self.process(head) {
                try importProcess(head, name, body)
            } else {
                skip(head, "is not a process; leave it to monit")
            }
        }
        return result
    }

    private static func isDaemon(_ statement: MonitFile.Statement) -> Bool {
        statement.first == "set" && statement.tokens.count > 1 && statement.tokens[1].keyword == "daemon"
    }

    /// The name in `check process NAME`, or in the older `check NAME`.
    private static func process(_ head: MonitFile.Statement) -> MonitToken? {
        guard head.tokens.count > 1 else { return nil }
        let second = head.tokens[1]
        guard second.keyword == "process" else { return second.kind == .text ? second : nil }
        return head.tokens.count > 2 ? head.tokens[2] : nil
    }

    private mutating func take(_ statement: MonitFile.Statement) {
        var reason = "is about monit itself"
        switch statement.tokens.dropFirst().first?.keyword {
        case "daemon" where statement.has("delay"): reason = "apps are launched without a delay"
        case "daemon": return
        case "limits":
            times.take(statement)
            reason = "is about monit itself, except for the times of starts and connections"
        case "onreboot":
            onReboot = statement
            return
        default: break
        }
        result.notes.append(
            ImportNote(kind: .dropped, place: statement.place, message: "\(statement.shown): \(reason)"))
    }

    private mutating func skip(_ statement: MonitFile.Statement, _ reason: String) {
        let message = "\(statement.shown): \(reason)"
        result.notes.append(ImportNote(kind: .skipped, place: statement.place, message: message))
    }

    // MARK: - A process

    private mutating func importProcess(
        _ head: MonitFile.Statement, _ token: MonitToken, _ body: [MonitFile.Statement]
    ) throws(ImportError) {
        guard let name = try? AppName(token.text) else {
            throw ImportError(
                token.place,
                "\(Printable.quoted(token.text)) cannot be an app's name; use letters, digits, \"-\", \"_\" and \".\"")
        }
        guard !result.apps.contains(where: { $0.name == name }) else {
            throw ImportError(token.place, "there is already a process \(name)")
        }
        var draft = AppDraft(name: name, origin: file.path, specifiers: specifiers)
        let starts = body.filter { $0.first == "start" }
        for earlier in starts.dropLast() {
            draft.note(.dropped, at: earlier.place, "\(earlier.shown) is set again, and the last one counts")
        }
        try putStart(starts.last, head, &draft)
        // monit restarts a process after every exit.
        draft.set(.policy, "always")
        var times = times
        if let every = body.last(where: { $0.first == "every" })?.tokens.dropFirst().first?.count {
            times.cycle *= max(1, min(every, 10_000))
        }
        if let onReboot, !body.contains(where: { $0.first == "onreboot" }) { putMode(onReboot, &draft) }
        for statement in body where statement.first != "start" {
            if statement.first == "if" {
                MonitTest(statement, times: times).put(into: &draft)
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
        guard let start else {
            throw ImportError(head.place, "\(head.shown) has no start program, and so no command to run")
        }
        // Without double quotes, the command is one word: a path, or a text in single quotes.
        var words = start.tokens.dropFirst().prefix { $0.kind == .argument }.map(\.text)
        if words.isEmpty, let path = start.tokens.dropFirst().first, path.isText { words = [path.text] }
        guard !words.isEmpty, words.allSatisfy({ !$0.contains("\0") }) else {
            throw ImportError(start.place, "start program: write the command in double quotes")
        }
        if let fault = draft.put(.execStart, UnitText.command(words)) {
            throw ImportError(start.place, "start program: \(fault)")
        }
        draft.note(.toDo, at: start.place, Self.advice(words))
        var rest = start.tokens.dropFirst(words.count + 1)
        var launch = times.start
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else {
                throw ImportError(option.place, "\(Printable.quoted(option.text)) has no value")
            }
            let shown = "\(option.keyword) \(value.text.singleLine(limit: 60))"
            switch option.keyword {
            case "uid": draft.carry(.user, value.text, of: shown, at: value.place)
            case "gid": draft.carry(.group, value.text, of: shown, at: value.place)
            case "timeout":
                guard let unit = rest.popFirst(), let time = MonitTimes.span(value, unit) else {
                    throw ImportError(option.place, "\(shown): write a number of seconds, such as timeout 30 seconds")
                }
                launch = time
            default:
                throw ImportError(
                    option.place, "start program: monit does not know \(Printable.quoted(option.text)) there")
            }
        }
        if let launch { draft.carry(.launch, MonitTimes.text(launch), of: "timeout", at: start.place) }
    }

    /// monit's start programs return after they have started the process, so they do not stay in the foreground.
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
        case "every" where statement.tokens.count > 1 && statement.tokens[1].count != nil:
            // It is already the interval of the probe.
            break
        case "every", "notevery": drop("an app is watched all the time")
        case "alert", "noalert": drop("incidents are in the journal and in reports; no mail is sent")
        case "mode", "onreboot": putMode(statement, &draft)
        default: drop("has no counterpart")
        }
    }

    /// `mode`, `onreboot` and `set onreboot`.
    private func putMode(_ statement: MonitFile.Statement, _ draft: inout AppDraft) {
        guard !statement.has("active"), !statement.tokens.contains(where: { $0.keyword == "start" }) else { return }
        draft.set(.enabled, "no")
        draft.note(.changed, at: statement.place, "\(statement.shown) became Enabled=no")
    }
}
