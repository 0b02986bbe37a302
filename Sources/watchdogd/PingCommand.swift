// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl

/// `watchdogd ping`: the probe of a container.
struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Ask whether an app is ready and answers.",
        discussion: """
            Ends with 0 only if it is: the main loop is not silent, no probe has just failed, and no incident is open; \
            otherwise with 1. Other codes say that nobody could be asked: 66 no such app, 69 no watchdogd, 75 no answer \
            in time, 77 not permitted. Prints one line. Fit for the startup, readiness and liveness probes of an \
            orchestrator.
            """
    )

    @Flag(help: "Ask only whether watchdogd itself answers.")
    var daemon = false

    @Option(
        help: ArgumentHelp("Time for the answer (default: 1s).", valueName: "span"), transform: RunOptions.span)
    var timeout: Duration?

    @OptionGroup var place: ControlOptions

    @Argument(
        help: ArgumentHelp("The app's name; not needed if there is only one.", valueName: "app"),
        completion: .appNames)
    var name: String?

    func validate() throws {
        guard !daemon || name == nil else {
            throw ValidationError("--daemon asks watchdogd itself; leave out '\(name ?? "")'")
        }
    }

    func run() throws {
        let patience = timeout ?? .seconds(1)
        guard !daemon else {
            let reply = try place.choice.withClient(within: patience) { client throws(ControlClientError) in
                try client.describeDaemon()
            }
            return print("watchdogd \(reply.version) answers, pid \(reply.pid)")
        }
        let app = try place.choice.withClient(within: patience) { client throws(ControlClientError) in
            guard let name else { return only(try client.list().apps) }
            return try client.describe(DescribeRequest(name)).app
        }
        guard let app else {
            throw ValidationError("there is not exactly one app to ping; name one, 'watchdogd list' shows them")
        }
        print(ControlText.ping(app))
        if app.isAnswering != true { throw ExitCode(1) }
    }

    private func only(_ apps: [AppSummary]) -> AppSummary? { apps.count == 1 ? apps.first : nil }
}
