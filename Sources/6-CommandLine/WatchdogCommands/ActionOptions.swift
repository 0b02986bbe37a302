// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl
import WatchdogLaunch

/// The options of commands that act on apps, one after the other.
struct ActionOptions: ParsableArguments {
    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(inversion: .prefixedNo, help: "Wait until the request is done.")
    var wait = true

    @Argument(
        help: .apps("Names of apps"), completion: .appNames)
    var names: [String]

    /// Calls the daemon for each app; prints replies only as JSON, because the exit code is enough for people.
    ///
    /// A failure does not stop the calls for the other apps; the first one determines the exit code.
    ///
    /// - Parameters:
    ///   - isDone: whether an error means that there was nothing to do; it is printed and is no failure.
    ///   - call: acts on one app.
    ///   - tell: prints the reply for people.
    func perform<Reply: ControlReply>(
        isDone: (ControlError) -> Bool = { _ in false },
        _ call: (ControlClient, AppRequest) throws(ControlClientError) -> Reply,
        then tell: (Reply, String) -> Void = { _, _ in }
    ) throws {
        let apps = try AppNames(names).matches(daemon, output)
        try AppNames.each(apps) { name in
            let reply = try daemon.choice.attempt(printsJSON: output.json, isDone) {
                client throws(ControlClientError) in try call(client, AppRequest(name, waits: wait))
            }
            guard let reply else { return }
            if output.json { StandardOutput.emit(ControlText.json(reply)) } else { tell(reply, name) }
        }
    }
}

/// The options of a command whose other arguments leave room for one name or pattern.
struct OneAppOptions: ParsableArguments {
    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    @Flag(inversion: .prefixedNo, help: "Wait until the request is done.")
    var wait = true

    @Argument(
        help: ArgumentHelp("The app's name, or a pattern such as 'web*'.", valueName: "app"), completion: .appNames)
    var name: String
}

extension DaemonChoice {
    /// Calls the daemon; returns nil if it answers that there was nothing to do, which is printed.
    func attempt<Reply>(
        printsJSON: Bool = false, _ isDone: (ControlError) -> Bool,
        _ body: (ControlClient) throws(ControlClientError) -> Reply
    ) throws -> Reply? {
        try withClient(printsJSON: printsJSON) { client throws(ControlClientError) -> Reply? in
            do throws(ControlClientError) {
                return try body(client)
            } catch {
                guard let refusal = error.controlError, isDone(refusal) else { throw error }
                StandardOutput.emit(printsJSON ? ControlText.json(error) : "\(error)\n")
                return nil
            }
        }
    }
}

extension ControlError {
    /// A launch has nothing to do.
    var isAlreadyRunning: Bool {
        if case .alreadyRunning = self { true } else { false }
    }

    /// A termination has nothing to do.
    var isNotRunning: Bool {
        if case .notRunning = self { true } else { false }
    }
}
