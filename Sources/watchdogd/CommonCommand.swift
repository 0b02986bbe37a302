// SPDX-License-Identifier: Apache-2.0

import WatchdogControl

/// Runs the most frequent commands without the parser, which takes 2 ms at each start to describe all commands.
///
/// It handles only `launch`, `terminate` and `restart` with exactly one app and at most `--control PATH` before it.
/// Everything else, including help and mistakes, is left to the parser.
enum CommonCommand {
    /// Returns false for a command line that the parser must handle.
    static func run(_ words: [String]) throws -> Bool {
        guard words.count == 3 || words.count == 5, let name = words.last, isPlain(name), name != "help",
            !AppNames.isPattern(name)
        else {
            return false
        }
        var daemon = DaemonChoice.unselected
        if words.count == 5 {
            guard words[2] == "--control", isPlain(words[3]) else { return false }
            daemon = .at(words[3])
        }
        let request = AppRequest(name, waits: true)
        switch words[1] {
        case "launch":
            let reply = try daemon.settle(\.isAlreadyRunning) { client throws(ControlClientError) in
                try client.launch(request)
            }
            if let reply { tell(reply, of: name) }
        case "restart":
            tell(try daemon.withClient { client throws(ControlClientError) in try client.restart(request) }, of: name)
        case "terminate":
            _ = try daemon.settle(\.isNotRunning) { client throws(ControlClientError) in try client.terminate(request) }
        default: return false
        }
        return true
    }

    /// Whether the parser would also accept the word as a value.
    private static func isPlain(_ word: String) -> Bool { !word.isEmpty && !word.utf8.starts(with: "-".utf8) }

    /// Prints how the launch ended; prints nothing for a running app.
    static func tell(_ reply: LaunchReply, of name: String) {
        if let text = ControlText.end(reply, of: name) { print(text) }
    }
}
