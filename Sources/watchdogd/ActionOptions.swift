// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogControl

/// The options of commands that act on one app.
struct ActionOptions: ParsableArguments {
    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(inversion: .prefixedNo, help: "Wait until the request is done.")
    var wait = true

    @Argument(help: ArgumentHelp("The app's name.", valueName: "app"), completion: .appNames)
    var name: String

    /// Calls the daemon; prints the reply only as JSON, because the exit code is enough for people.
    @discardableResult
    func perform<Reply: ControlReply>(
        _ call: (ControlClient, AppRequest) throws(ControlClientError) -> Reply
    ) throws -> Reply {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in
            try call(client, AppRequest(name, waits: wait))
        }
        if output.json { print(ControlText.json(reply), terminator: "") }
        return reply
    }

    func tell(_ reply: LaunchReply) {
        if !output.json { CommonCommand.tell(reply, of: name) }
    }
}
