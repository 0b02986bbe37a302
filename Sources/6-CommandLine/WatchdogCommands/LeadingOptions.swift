// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options before the command, as git takes them: `watchdogd --user status`, `watchdogd report --reports DIR show`.
///
/// The parser knows an option only after the command that takes it, so these are moved there. How text is shown,
/// `--color` and `--no-pager`, applies to every command, also to one that has no such option.
struct LeadingOptions {
    /// What follows an option.
    private enum Kind {
        case flag
        case value
        /// `--journal`, or `--journal PATH`.
        case optionalValue
    }

    /// Those of the process; an invalid value counts as absent here, because `Watchdogd.main` reports it.
    static let given = try? LeadingOptions(CommandLine.arguments.dropFirst())

    /// The words for the parser: the command, then its options.
    private(set) var words: [String]
    private(set) var color: ColorOption.Choice?
    private(set) var hasNoPager = false

    private static let daemon: Set = ["--user", "--system", "--control"]
    /// The commands that talk to a daemon, and `serve`.
    private static let daemonCommands: Set = [
        "list", "status", "top", "ping", "launch", "terminate", "restart", "capture", "reload", "events", "logs",
        "metrics", "foreground", "background", "suspend", "resume", "event", "sample", "serve",
        "observe",
    ]
    private static let root: [String: Kind] = [
        "--user": .flag, "--system": .flag, "--control": .value, "--json": .flag, "--color": .value,
        "--no-pager": .flag,
    ]
    private static let report: [String: Kind] = [
        "--reports": .value, "--journal": .optionalValue, "--host": .value, "--all-users": .flag, "--app": .value,
        "--event": .value, "--verdict": .value, "--since": .value, "--limit": .value, "--json": .flag,
        "--color": .value, "--no-pager": .flag,
    ]
    private static let record: [String: Kind] = ["--json": .flag, "--color": .value, "--no-pager": .flag]

    init(_ arguments: some Sequence<String>) throws {
        words = Array(arguments)
        var rest = words[...]
        var moved = try take(Self.root, from: &rest)
        guard let command = rest.first, !command.hasPrefix("-") else {
            guard !rest.isEmpty || words.isEmpty else {
                throw ValidationError("a command is missing; 'watchdogd --help' lists them")
            }
            // As in `watchdogd --color never --help`; the parser says what is wrong with others.
            if moved.isEmpty { words = Array(rest) }
            return
        }
        if let option = moved.first(where: { Self.daemon.contains(Self.name($0)) }) {
            guard Self.daemonCommands.contains(command) || !Self.isCommand(command) else {
                throw ValidationError(
                    "\(Self.name(option)) before the command selects a daemon, but '\(command)' does not talk to one; "
                        + "leave it out")
            }
        }
        if command == "run", moved.contains("--json") {
            throw ValidationError("--json before 'run' has no file; write --json FILE after it")
        }
        rest.removeFirst()
        words = [command]
        if let (options, names) = Self.groups[command] {
            moved += try take(options, names, from: &rest)
            // The default command takes its options where they are.
            // A misspelled command is reported where commands are checked.
            if let subcommand = rest.first, !subcommand.hasPrefix("-") {
                // Of the names of reports, only the most frequent one implies `show`.
                if command == "report", subcommand == ReportArgument.latest { words.append("show") }
                words.append(rest.removeFirst())
            }
        }
        // As users of systemctl type it, after any command.
        if Self.daemonCommands.contains(command), !["logs", "observe"].contains(command) {
            let (options, others) = (rest.prefix { $0 != "--" }, rest.drop { $0 != "--" })
            hasNoPager = hasNoPager || options.contains("--no-pager")
            rest = (options.filter { $0 != "--no-pager" } + others)[...]
        }
        words += moved + rest
    }

    private static var groups: [String: ([String: Kind], Set<String>)] {
        [
            "report": (report, names(of: ReportCommand.self).union([ReportArgument.latest])),
            "record": (record, ["show"]),
        ]
    }

    private static func names(of command: any ParsableCommand.Type) -> Set<String> {
        Set(command.configuration.subcommands.compactMap { $0.configuration.commandName })
    }

    private static func isCommand(_ word: String) -> Bool { names(of: Watchdogd.self).contains(word) }

    private static func name(_ word: String) -> String {
        word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
    }

    /// Takes the options at the beginning, up to the first word that is none of them.
    ///
    /// - Parameter commands: words that are no value of an option whose value may be left out.
    private mutating func take(
        _ options: [String: Kind], _ commands: Set<String> = [], from rest: inout ArraySlice<String>
    ) throws -> [String] {
        var taken: [String] = []
        while let word = rest.first, let kind = options[Self.name(word)] {
            var option = [word]
            let next = rest.dropFirst().first
            if !word.contains("=") {
                switch kind {
                case .flag: break
                case .value:
                    guard let next, !next.hasPrefix("-") else { throw ValidationError("\(word) needs a value") }
                    option.append(next)
                case .optionalValue:
                    // A folder that is named as a command is one only if a command follows.
                    let isCommand = next.map(commands.contains) ?? true
                    let isFollowed = rest.dropFirst(2).first.map(commands.contains) ?? false
                    if let next, !next.hasPrefix("-"), !isCommand || isFollowed {
                        option.append(next)
                    } else {
                        // Behind the command, it must not take the next word as its value.
                        option = ["\(word)=\(ReportsOption.local)"]
                    }
                }
            }
            rest = rest.dropFirst(option.count)
            if try !show(option) { taken += option }
        }
        return taken
    }

    /// Returns false for an option that does not only say how text is shown.
    private mutating func show(_ option: [String]) throws -> Bool {
        switch Self.name(option[0]) {
        case "--no-pager": hasNoPager = true
        case "--color":
            let value = option.count > 1 ? option[1] : String(option[0].dropFirst("--color=".count))
            guard let choice = ColorOption.Choice(rawValue: value) else {
                throw ValidationError("--color '\(value)' is not a choice; use auto, always or never")
            }
            color = choice
        default: return false
        }
        return true
    }
}
