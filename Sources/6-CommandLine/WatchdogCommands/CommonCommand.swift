// SPDX-License-Identifier: Apache-2.0

import WatchdogControl

/// Runs the most frequent commands without the parser, which takes 3 ms at each start to describe all commands.
///
/// It handles only `launch`, `terminate`, `restart`, `status` and `ping` with one app, and `list`, `status` and `ping` without
/// any, with at most `--control PATH` before it. Everything else, including help and mistakes, is left to the parser.
enum CommonCommand {
    /// Returns false for a command line that the parser must handle.
    static func run(_ words: [String]) throws -> Bool {
        guard words.count > 1 else { return false }
        var rest = words[2...]
        var daemon = DaemonChoice.unselected
        if rest.first == "--control" {
            guard rest.count > 1, isPlain(rest[3]) else { return false }
            daemon = .at(rest[3])
            rest = rest.dropFirst(2)
        }
        guard rest.count < 2 else { return false }
        guard let name = rest.first else { return try run(words[1], of: daemon) }
        guard isPlain(name), name != "help", !AppNames.isPattern(name) else { return false }
        return try run(words[1], name, of: daemon)
    }

    private static func run(_ command: String, _ name: String, of daemon: DaemonChoice) throws -> Bool {
        let request = AppRequest(name, waits: true)
        switch command {
        case "launch":
            let reply = try daemon.attempt(\.isAlreadyRunning) { client throws(ControlClientError) in
                try client.launch(request)
            }
            if let reply { tell(reply, of: name) }
        case "restart":
            tell(try daemon.withClient { client throws(ControlClientError) in try client.restart(request) }, of: name)
        case "terminate":
            _ = try daemon.attempt(\.isNotRunning) { client throws(ControlClientError) in try client.terminate(request)
            }
        case "status": PagerOption.show(try StatusCommand.text(of: name, by: daemon, style))
        case "ping": try PingCommand.check(name, of: daemon)
        default: return false
        }
        return true
    }

    private static func run(_ command: String, of daemon: DaemonChoice) throws -> Bool {
        switch command {
        case "list": PagerOption.show(try ListCommand.text(of: daemon, style))
        case "status": PagerOption.show(try StatusCommand.text(of: daemon, style))
        case "ping": try PingCommand.check(nil, of: daemon)
        default: return false
        }
        return true
    }

    /// No option comes before the command.
    private static var style: ControlText.Style { OutputOptions.style(ColorOption.Choice.auto.style) }

    /// Whether the parser would also accept the word as a value.
    private static func isPlain(_ word: String) -> Bool { !word.isEmpty && !word.utf8.starts(with: "-".utf8) }

    /// Prints how the launch ended; prints nothing for a running app.
    static func tell(_ reply: LaunchReply, of name: String) {
        if let text = ControlText.end(reply, of: name) { print(text) }
    }
}
