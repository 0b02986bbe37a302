// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension AppReader {
    /// `ExecStart=`: one command, which must be cleared before another can be set.
    mutating func setCommand(_ text: SourceText) throws(ValueError) {
        guard !text.isEmpty else {
            command = nil
            return
        }
        let commands = try commands(in: text, of: .execStart)
        if let earlier = settings[.execStart]?.dropLast().last {
            let file = diagnostics.files[earlier.position.file].path.split(separator: "/").last ?? ""
            let isSameFile = earlier.position.file == text.position(at: 0).file
            let place = "line \(earlier.position.line + 1)\(isSameFile ? "" : " of \(String(file).singleLine())")"
            throw ValueError(
                message: "a command is already set in \(place); clear it first with an empty ExecStart=",
                length: text.count)
        }
        guard commands.count <= 1 else {
            throw ValueError(
                message: "an app has one command; run others before it with ExecStartPre=, and write a lone ; as \\;",
                length: text.count)
        }
        guard commands.first?.isPrivileged != true else {
            throw ValueError(message: "the prefix + is only for ExecStartPre= and ExecReload=; leave out User= instead")
        }
        command = commands.first
    }

    /// `ExecStartPre=`, `ExecReload=`: any number of commands.
    mutating func addCommands(
        to list: WritableKeyPath<AppConfiguration, [Command]>, _ key: ConfigurationKey, _ text: SourceText
    ) throws(ValueError) {
        guard !text.isEmpty else {
            draft[keyPath: list] = []
            return
        }
        draft[keyPath: list] += try commands(in: text, of: key)
    }

    /// Commands separated by lone semicolons: "COMMAND LINES" in systemd.service(5).
    private mutating func commands(
        in text: SourceText, of key: ConfigurationKey
    ) throws(ValueError) -> [Command] {
        var words = WordReader(text)
        var commands: [Command] = []
        repeat {
            if words.skip(";") { continue }
            commands.append(try command(from: &words, of: key))
        } while !words.isAtEnd
        guard !commands.isEmpty else { throw ValueError(message: "a command is missing", length: text.count) }
        return commands
    }

    private mutating func command(
        from words: inout WordReader, of key: ConfigurationKey
    ) throws(ValueError) -> Command {
        guard let first = try words.next() else { throw ValueError(message: "a command is missing") }
        warnOfEscapes(in: first, of: words.text)
        var prefixes: Set<UInt8> = []
        var rest = first.bytes[...]
        while let prefix = rest.first, "-@:+!|".utf8.contains(prefix), prefixes.insert(prefix).inserted {
            rest.removeFirst()
        }
        guard !prefixes.contains(UInt8(ascii: "!")), !prefixes.contains(UInt8(ascii: "|")) else {
            throw first.error("only systemd's prefixes -, @, : and + are supported")
        }
        let program: String
        do throws(ValueError) {
            program = try expansion.expand(rest)
        } catch {
            var moved = error
            moved.offset += rest.startIndex
            throw first.error(moved)
        }
        try check(program: program, first)

        var command = Command(program: program, arguments: [])
        command.ignoresFailure = prefixes.contains(UInt8(ascii: "-"))
        command.isPrivileged = prefixes.contains(UInt8(ascii: "+"))
        command.replacesVariables = !prefixes.contains(UInt8(ascii: ":"))
        let namesItself = !prefixes.contains(UInt8(ascii: "@"))
        if namesItself { command.arguments.append(program) }
        while !words.isAtEnd {
            if words.skip(";") { break }
            if words.skip("\\;") {
                command.arguments.append(";")
                continue
            }
            guard let word = try words.next() else { break }
            warnOfEscapes(in: word, of: words.text)
            warnOfShell(word, of: words.text)
            // Report the error here, so that errors in the next argument are reported too.
            do throws(ValueError) {
                let argument = try expanded(word)
                if command.replacesVariables { try check(variablesOf: argument, word) }
                command.arguments.append(argument)
            } catch {
                tell(error, of: key, in: words.text)
            }
        }
        guard !command.arguments.isEmpty else {
            throw first.error("the prefix @ needs the program's argv[0] as the next word")
        }
        return command
    }

    /// Warns about shell syntax; quoted, it is an ordinary argument.
    private mutating func warnOfShell(_ word: Word, of text: SourceText) {
        let source = text[word.range].string
        let advice: String
        switch source {
        case "#": advice = "a comment must be on its own line"
        case "|", "||", "&", "&&", "<", ">", ">>", "2>", "2>&1", "&>": advice = "for a shell, write /bin/sh -c '…'"
        default: return
        }
        diagnostics.report(
            .warning, word.error("no shell runs here; the program gets \(source) as an argument; \(advice)"),
            in: text)
    }

    private func check(program: String, _ word: Word) throws(ValueError) {
        guard !program.isEmpty else { throw word.error("the program is missing") }
        guard !program.hasPrefix("$"), !program.contains("${") else {
            throw word.error("the program cannot be a variable")
        }
        guard program.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw word.error("the program's name contains a control character")
        }
        guard !program.hasSuffix("/") else { throw word.error("\(program.quoted()) names a directory") }
        guard program.utf8.count < 4096 else { throw word.error("the program's path is longer than 4095 bytes") }
        guard program.hasPrefix("/") || !program.contains("/") else {
            let name = program.split(separator: "/").last.map(String.init) ?? ""
            throw word.error(
                "\(program.quoted()) is a relative path; write an absolute path, or only the name to search PATH for it",
                suggestion: name.hasPrefix(".") ? nil : String(name.prefix(80)))
        }
        guard program != ".", program != "..", program.hasPrefix("/") || program.utf8.count <= 255 else {
            throw word.error("\(program.quoted()) is not a program name")
        }
    }

    /// Rejects what looks like a variable but is not: systemd drops it, and an argument that vanishes is never
    /// intended.
    private func check(variablesOf argument: String, _ word: Word) throws(ValueError) {
        if let name = Variables.name(ofWord: argument), !Variables.isName(name) {
            let start = name.prefix { $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber)) }
            if Variables.isName(start) {
                let rest = name.dropFirst(start.count)
                throw word.error(
                    "\(argument.quoted()) is not a variable: inside a word, a variable needs braces",
                    suggestion: "${\(start.prefix(40))}\(rest.prefix(40))")
            }
            throw word.error("\(argument.quoted()) is not a variable; write $$ for a dollar sign")
        }
        for case .variable(let name, _) in Variables.pieces(of: argument) where !Variables.isName(name) {
            let shown = "${\(name)}".quoted()
            throw word.error("\(shown) is not a variable; write $${ to pass ${ to the program")
        }
    }
}
