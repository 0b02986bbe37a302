// SPDX-License-Identifier: Apache-2.0

/// A service folder's script `run`, which stays the app's command, so that its preparations before the program are
/// kept.
struct RunScript {
    private let script: [UInt8]
    private let interpreter: Interpreter

    private enum Interpreter {
        case shell(isBash: Bool)
        /// A shell with a different syntax.
        case otherShell
        case execline
        /// The script is the program.
        case program
    }

    /// - Parameter script: its contents, which begin with `#!`.
    init(_ script: [UInt8]) {
        self.script = script
        let line = String(decoding: script.prefix { $0 != 0x0a }.dropFirst(2), as: UTF8.self)
        let words = line.split { $0 == " " || $0 == "\t" }.map(Self.lastPart)
        // `env -S NAME=VALUE PROGRAM`
        let isFound = words.first == "env"
        let program = isFound ? words.dropFirst().first { !$0.hasPrefix("-") && !$0.contains("=") } : words.first
        switch program {
        case "bash", "zsh", "ksh", "mksh": interpreter = .shell(isBash: true)
        case "sh", "dash", "ash", "posh", "yash": interpreter = .shell(isBash: false)
        case "busybox": interpreter = words.last == "sh" || words.last == "ash" ? .shell(isBash: false) : .program
        case "execlineb": interpreter = .execline
        case "fish", "csh", "tcsh", "rc", "es", "elvish", "nu", "pwsh", "openrc-run": interpreter = .otherShell
        default: interpreter = .program
        }
    }

    private static func lastPart(_ word: Substring) -> String {
        word.lastIndex(of: "/").map { String(word[$0...].dropFirst()) } ?? String(word)
    }

    /// The reason why the app's main process may not be the program; nil if it is.
    var reasonToWarn: String? {
        let effect = "the shell, not the program, is the app's main process and gets SIGTERM"
        let unclear = "cannot tell whether the script becomes the program; if it does not, \(effect)"
        switch interpreter {
        case .program: return nil
        case .otherShell: return unclear
        case .execline: return isChain ? nil : unclear
        case .shell(let isBash):
            switch ShellFate.of(script, isBash: isBash) {
            case .becomesProgram: return nil
            case .becomesProgramAtTimes: return "the script calls exec only in some cases; in the others, \(effect)"
            case .unclear: return unclear
            case .stays(.noExec): return "the script never calls exec: \(effect)"
            case .stays(.onlyRedirects):
                return "the script never becomes the program, because its exec only redirects: \(effect)"
            case .stays(.notByTheShell):
                return "the script never becomes the program, because its exec is not a command of its own shell "
                    + "(but of a subshell, a pipeline, the background, or text): \(effect)"
            }
        }
    }

    /// Whether an execline script ends by executing the program: each command executes the next one.
    private var isChain: Bool {
        let lines = String(decoding: script, as: UTF8.self).split(whereSeparator: \.isNewline)
        let words = lines.map(\.trimmed).filter { !$0.hasPrefix("#") }
            .flatMap { $0.split { $0 == " " || $0 == "\t" } }
        // These run the rest of the script repeatedly.
        let loops: Set<Substring> = ["forx", "forstdin", "forbacktickx", "loopwhilex"]
        var depth = 0
        for word in words {
            if word == "{" { depth += 1 }
            if word == "}" { depth -= 1 }
            if depth == 0, loops.contains(word) { return false }
        }
        // If the script ends with a block, there is no program to execute.
        return words.last.map { $0 != "}" } ?? false
    }
}
