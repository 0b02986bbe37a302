// SPDX-License-Identifier: Apache-2.0

/// A command of a script, as far as it affects the shell's fate.
indirect enum ShellCommand {
    /// Assignments and words, without redirections.
    case simple([ShellWord])
    case list([ShellCommand])
    /// `a && b || c`: from left to right.
    case chain(ShellCommand, [(isAnd: Bool, command: ShellCommand)])
    /// A pipeline or a subshell: separate processes for which the shell waits.
    case child
    /// A separate process for which the shell does not wait.
    case background
    /// `if` and `case`; complete if one of the branches is always taken.
    case choice(conditions: [ShellCommand], branches: [ShellCommand], isComplete: Bool)
    case loop(condition: ShellCommand, body: ShellCommand)
    case function(String, ShellCommand)
}

/// Reads a script: POSIX.1-2017, XCU 2.9 and 2.10.
struct ShellParser {
    typealias Unreadable = ShellLexer.Unreadable

    /// The maximum nesting depth of lists and commands.
    private static let maximumDepth = 100
    private static let closers: Set<String> = ["then", "elif", "else", "fi", "do", "done", "esac", "}"]

    private var lexer: ShellLexer
    private var token = ShellLexer.Token.end
    private var depth = 0

    /// The commands of a script.
    ///
    /// - Throws: ``ShellLexer/Unreadable`` for syntax that this parser does not support, even if a shell does.
    static func commands(_ script: [UInt8], isBash: Bool) throws(Unreadable) -> ShellCommand {
        var parser = ShellParser(lexer: ShellLexer(script, isBash: isBash))
        try parser.advance()
        let commands = try parser.list()
        guard parser.token == .end else { throw Unreadable() }
        return commands
    }

    private init(lexer: ShellLexer) { self.lexer = lexer }

    private mutating func advance() throws(Unreadable) { token = try lexer.token() }

    /// The next token, if it is a reserved word.
    private var plain: String? {
        if case .word(let word) = token, word.isPlain { word.text } else { nil }
    }

    private mutating func expect(_ word: String) throws(Unreadable) {
        guard plain == word else { throw Unreadable() }
        try advance()
    }

    private mutating func expect(mark: String) throws(Unreadable) {
        guard token == .mark(mark) else { throw Unreadable() }
        try advance()
    }

    private mutating func skipLines() throws(Unreadable) { while token == .mark("\n") { try advance() } }

    // MARK: - Lists

    private mutating func list() throws(Unreadable) -> ShellCommand {
        guard depth < Self.maximumDepth else { throw Unreadable() }
        depth += 1
        defer { depth -= 1 }
        var commands: [ShellCommand] = []
        while true {
            try skipLines()
            switch token {
            case .end, .mark(")"), .mark(";;"): return .list(commands)
            case .word where plain.map(Self.closers.contains) ?? false: return .list(commands)
            default: break
            }
            let command = try chain()
            switch token {
            case .mark("&"):
                commands.append(.background)
                try advance()
            case .mark(";"), .mark("\n"):
                commands.append(command)
                try advance()
            default:
                commands.append(command)
                guard [.end, .mark(")"), .mark(";;")].contains(token) else { throw Unreadable() }
            }
        }
    }

    private mutating func chain() throws(Unreadable) -> ShellCommand {
        let first = try pipeline()
        var rest: [(isAnd: Bool, command: ShellCommand)] = []
        while token == .mark("&&") || token == .mark("||") {
            let isAnd = token == .mark("&&")
            try advance()
            try skipLines()
            rest.append((isAnd, try pipeline()))
        }
        return rest.isEmpty ? first : .chain(first, rest)
    }

    private mutating func pipeline() throws(Unreadable) -> ShellCommand {
        while plain == "!" { try advance() }
        let first = try command()
        guard token == .mark("|") else { return first }
        while token == .mark("|") {
            try advance()
            try skipLines()
            _ = try command()
        }
        return .child
    }

    // MARK: - Commands

    private mutating func command() throws(Unreadable) -> ShellCommand {
        guard depth < Self.maximumDepth else { throw Unreadable() }
        depth += 1
        defer { depth -= 1 }
        let command: ShellCommand
        switch plain {
        case "if": command = try conditional()
        case "while", "until":
            try advance()
            let condition = try list()
            command = .loop(condition: condition, body: try doGroup())
        case "for", "select": command = try forLoop()
        case "case": command = try caseChoice()
        case "{":
            try advance()
            command = try list()
            try expect("}")
        case "function":
            try advance()
            guard let name = plain else { throw Unreadable() }
            try advance()
            if token == .mark("(") {
                try advance()
                try expect(mark: ")")
            }
            return try function(name)
        case "[[":
            while plain != "]]" {
                guard token != .end else { throw Unreadable() }
                try advance()
            }
            try advance()
            command = .simple([])
        case .some(let word) where Self.closers.contains(word): throw Unreadable()
        default:
            guard token == .mark("(") else { return try simple() }
            try advance()
            _ = try list()
            try expect(mark: ")")
            command = .child
        }
        while token == .redirection { try skipRedirection() }
        return command
    }

    private mutating func skipRedirection() throws(Unreadable) {
        try advance()
        guard case .word = token else { throw Unreadable() }
        try advance()
    }

    private mutating func simple() throws(Unreadable) -> ShellCommand {
        var words: [ShellWord] = []
        var isEmpty = true
        while true {
            switch token {
            case .redirection: try skipRedirection()
            case .word(let word):
                words.append(word)
                try advance()
            case .mark("(") where words.count == 1 && words[0].isPlain:
                try advance()
                try expect(mark: ")")
                return try function(words[0].text)
            default:
                guard !isEmpty else { throw Unreadable() }
                return .simple(words)
            }
            isEmpty = false
        }
    }

    private mutating func function(_ name: String) throws(Unreadable) -> ShellCommand {
        try skipLines()
        return .function(name, try command())
    }

    private mutating func conditional() throws(Unreadable) -> ShellCommand {
        var conditions: [ShellCommand] = []
        var branches: [ShellCommand] = []
        repeat {
            try advance()
            conditions.append(try list())
            try expect("then")
            branches.append(try list())
        } while plain == "elif"
        let isComplete = plain == "else"
        if isComplete {
            try advance()
            branches.append(try list())
        }
        try expect("fi")
        return .choice(conditions: conditions, branches: branches, isComplete: isComplete)
    }

    private mutating func doGroup() throws(Unreadable) -> ShellCommand {
        try expect("do")
        let body = try list()
        try expect("done")
        return body
    }

    private mutating func forLoop() throws(Unreadable) -> ShellCommand {
        try advance()
        guard let name = plain else { throw Unreadable() }
        try advance()
        try skipLines()
        if plain == "in" {
            try advance()
            while case .word = token { try advance() }
        }
        if token == .mark(";") { try advance() }
        try skipLines()
        // The loop variable has one of the words, or one of the script's arguments, as its value.
        let variable = ShellWord(text: "\(name)=$", value: nil, isPlain: false)
        return .loop(condition: .simple([variable]), body: try doGroup())
    }

    private mutating func caseChoice() throws(Unreadable) -> ShellCommand {
        try advance()
        guard case .word = token else { throw Unreadable() }
        try advance()
        try skipLines()
        try expect("in")
        try skipLines()
        var branches: [ShellCommand] = []
        var isComplete = false
        while plain != "esac" {
            if token == .mark("(") { try advance() }
            while token != .mark(")") {
                switch token {
                case .word(let word): isComplete = isComplete || (word.isPlain && word.text == "*")
                case .mark("|"): break
                default: throw Unreadable()
                }
                try advance()
            }
            try advance()
            branches.append(try list())
            guard token == .mark(";;") else { break }
            try advance()
            try skipLines()
        }
        try expect("esac")
        return .choice(conditions: [], branches: branches, isComplete: isComplete)
    }
}
