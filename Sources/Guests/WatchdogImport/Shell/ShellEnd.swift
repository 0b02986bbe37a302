// SPDX-License-Identifier: Apache-2.0

/// The fate of the shell that runs a script.
enum ShellFate: Equatable {
    /// It becomes a program with exec, unless the script ends before.
    case becomesProgram
    /// It becomes a program in some cases; in others it stays, and waits for one.
    case becomesProgramAtTimes
    case stays(Reason)
    /// The script uses unsupported syntax, or continues in another file.
    case unclear

    enum Reason: Equatable {
        case noExec
        /// `exec 2>&1` and the like.
        case onlyRedirects
        /// In a subshell, a pipeline, the background, or a function that is not called.
        case notByTheShell
    }

    static func of(_ script: [UInt8], isBash: Bool) -> ShellFate {
        guard let commands = try? ShellParser.commands(script, isBash: isBash) else { return .unclear }
        var walk = ShellWalk()
        let ends = walk.ends(of: commands)
        if ends.contains(.unknown) { return .unclear }
        if ends.contains(.becomes) { return ends.contains(.child) ? .becomesProgramAtTimes : .becomesProgram }
        if walk.redirects { return .stays(.onlyRedirects) }
        // The word may also be data; then the reason is wrong, but the fate is right.
        let text = String(decoding: script, as: UTF8.self)
        let words = text.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "-" }
        return .stays(words.contains("exec") ? .notByTheShell : .noExec)
    }
}

/// The possible ends of a command, over all paths through it.
private struct ShellEnds: OptionSet {
    let rawValue: Int

    static let becomes = ShellEnds(rawValue: 1)
    static let exits = ShellEnds(rawValue: 2)
    /// The function ends.
    static let returns = ShellEnds(rawValue: 4)
    /// The shell continues after a short command.
    static let short = ShellEnds(rawValue: 8)
    /// The shell continues after it has waited for a program.
    static let child = ShellEnds(rawValue: 16)
    /// The shell continues after commands that are not in the script.
    static let unknown = ShellEnds(rawValue: 32)

    static let goesOn: ShellEnds = [.short, .child, .unknown]
    var goesOn: Bool { !isDisjoint(with: .goesOn) }
}

private struct ShellWalk {
    /// The maximum nesting of commands and function calls.
    private static let maximumDepth = 200
    /// The maximum number of steps, because recursive functions would need any number.
    private static let maximumSteps = 20_000

    private var depth = 0
    private var steps = 0
    private var variables = ShellVariables()

    private var functions: [String: ShellCommand] = [:]
    /// The cached results of calls, with the variables before and after each.
    private var known: [String: (before: ShellVariables, ends: ShellEnds, after: ShellVariables)] = [:]
    private var calls: Set<String> = []
    private var hasArguments = false
    /// Whether an `exec` only redirects.
    private(set) var redirects = false

    mutating func ends(of command: ShellCommand) -> ShellEnds {
        guard depth < Self.maximumDepth, steps < Self.maximumSteps else { return .unknown }
        depth += 1
        steps += 1
        defer { depth -= 1 }
        switch command {
        case .simple(let words): return simple(words)
        case .list(let commands): return sequence(commands)
        case .chain(let first, let rest): return chain(first, rest)
        case .child: return .child
        case .background: return .short
        case .choice(let conditions, let branches, let isComplete):
            var all: ShellEnds = isComplete ? [] : .short
            for condition in conditions {
                let ends = ends(of: condition)
                all.formUnion(ends.subtracting(.goesOn))
                guard ends.goesOn else { return all }
            }
            let before = variables
            var after = isComplete ? nil : before
            for branch in branches {
                variables = before
                let ends = ends(of: branch)
                all.formUnion(ends)
                if ends.goesOn { after = after?.merged(with: variables) ?? variables }
            }
            variables = after ?? before
            return all
        case .loop(let condition, let body):
            let ends = ends(of: condition)
            guard ends.goesOn else { return ends }
            // Analyze the body twice, because its assignments affect the next iteration.
            return ends.subtracting(.goesOn).union(perhaps(body)).union(perhaps(body)).union(.short)
        case .function(let name, let body):
            functions[name] = body
            known = [:]
            return .short
        }
    }

    /// The possible ends of a command that is not always run.
    private mutating func perhaps(_ command: ShellCommand) -> ShellEnds {
        let before = variables
        let ends = ends(of: command)
        variables = ends.goesOn ? before.merged(with: variables) : before
        return ends
    }

    private mutating func sequence(_ commands: [ShellCommand]) -> ShellEnds {
        var all: ShellEnds = []
        var last: ShellEnds = .short
        for command in commands {
            let ends = ends(of: command)
            all.formUnion(ends.subtracting(.goesOn))
            guard ends.goesOn else { return all }
            last = ends.intersection(.goesOn)
        }
        return all.union(last)
    }

    private mutating func chain(_ first: ShellCommand, _ rest: [(isAnd: Bool, command: ShellCommand)]) -> ShellEnds {
        var all = ends(of: first)
        for (isAnd, command) in rest {
            guard all.goesOn else { return all }
            // A command before && is only a condition.
            if isAnd { all = all.subtracting(.goesOn).union(.short) }
            all.formUnion(perhaps(command))
        }
        return all
    }

    private mutating func simple(_ words: [ShellWord]) -> ShellEnds {
        let command = words.drop { $0.isAssignment }
        guard command.isEmpty else { return ends(of: command) }
        assign(words[...])
        return .short
    }

    private mutating func assign(_ words: ArraySlice<ShellWord>) {
        for word in words { variables.assign(word) }
    }

    private mutating func ends(of words: ArraySlice<ShellWord>) -> ShellEnds {
        guard let first = words.first else { return .short }
        guard steps < Self.maximumSteps else { return .unknown }
        steps += 1
        let rest = words.dropFirst()
        guard let name = first.value else {
            var all: ShellEnds = []
            for value in variables.values(of: first) {
                switch value {
                case .words(let words): all.formUnion(ends(of: words + rest))
                case .anything: all.formUnion(.child)
                case .perhapsExec: all.formUnion(.unknown)
                }
            }
            return all
        }
        if let body = functions[name] { return call(name, body) }
        switch name {
        case "exec":
            let program = Self.program(rest)
            // runsv(8) and s6-supervise pass no arguments.
            let isNothing = program.count == 1 && program.first.map { Self.arguments.contains($0.text) } == true
            if program.isEmpty { redirects = true }
            return program.isEmpty || isNothing && !hasArguments ? .short : .becomes
        case "command", "builtin":
            guard !rest.contains(where: { $0.text == "-v" || $0.text == "-V" }) else { return .short }
            return ends(of: rest.drop { $0.text == "-p" || $0.text == "--" })
        case "exit": return .exits
        case "return": return .returns
        case ".", "source", "eval": return .unknown
        case "set":
            hasArguments = hasArguments || rest.contains { $0.text == "--" || !$0.text.hasPrefix("-") }
            return .short
        case "export", "readonly", "local", "declare", "typeset":
            assign(rest.filter(\.isAssignment)[...])
            return .short
        case "read", "unset", "getopts":
            for word in rest { variables.forget(word.text, isUnset: name == "unset") }
            return .short
        default: return Self.short.contains(name) ? .short : .child
        }
    }

    private static let arguments = ["$@", "$*"]

    /// The words after the options of `exec`.
    private static func program(_ words: ArraySlice<ShellWord>) -> ArraySlice<ShellWord> {
        var words = words
        while let option = words.first?.value, option.hasPrefix("-"), option != "-" {
            words = words.dropFirst()
            if option == "--" { break }
            // Skip the argument of -a, the program's name.
            if option.hasSuffix("a") { words = words.dropFirst() }
        }
        return words
    }

    private mutating func call(_ name: String, _ body: ShellCommand) -> ShellEnds {
        if let call = known[name], call.before == variables {
            variables = call.after
            return call.ends
        }
        let before = variables
        guard calls.insert(name).inserted else { return .child }
        var ends = ends(of: body)
        calls.remove(name)
        if ends.contains(.returns) { ends = ends.subtracting(.returns).union(.short) }
        known[name] = (before, ends, variables)
        return ends
    }

    /// Shell builtins, and programs that exit immediately.
    private static let short: Set<String> = [
        ":", "[", "alias", "bg", "break", "cd", "continue", "echo", "false", "fc", "hash", "jobs", "kill", "let",
        "printf", "pwd", "shift", "shopt", "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias",
        "chmod", "chown", "install", "ln", "logger", "mkdir", "rm", "sleep", "sv", "touch",
    ]
}
