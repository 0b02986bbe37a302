// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogControl

/// `watchdogd ping`: the probe of a container.
struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Check that apps are ready and responding.",
        discussion: """
            Exits with 0 if each app is ready, its main loop answers, its last probe succeeded and no incident is open; \
            otherwise with 1. Other codes mean that the check itself failed: 66 no such app, 69 watchdogd is not \
            running, 75 no answer in time, 77 not permitted. Prints one line for each app. Use it for an orchestrator's startup, \
            readiness and liveness probes.
            """
    )

    private static let usualPatience = Duration.seconds(1)

    @Flag(help: "Check only that watchdogd itself responds.")
    var daemon = false

    @Option(
        help: ArgumentHelp("Time to wait for the answer (default: 1s).", valueName: "span"), transform: RunOptions.span)
    var timeout: Duration?

    @OptionGroup var place: ControlOptions

    @Argument(help: .apps("Names of apps, optional if there is only one"), completion: .appNames)
    var names: [String] = []

    func validate() throws {
        guard !daemon || names.isEmpty else {
            throw ValidationError("--daemon checks watchdogd itself; leave out '\(names[0])'")
        }
    }

    func run() throws {
        let patience = timeout ?? Self.usualPatience
        guard !daemon else {
            let reply = try place.choice.withClient(within: patience) { client throws(ControlClientError) in
                try client.describeDaemon()
            }
            return print("watchdogd \(reply.version.singleLine(limit: 64)) answers, pid \(reply.pid)")
        }
        guard !names.isEmpty else { return try Self.check(nil, of: place.choice, within: patience) }
        try AppNames.each(AppNames(names).matches(of: place.choice, within: patience)) { name in
            try Self.check(name, of: place.choice, within: patience)
        }
    }

    /// Checks an app, or the only one if it has no name, and prints the result.
    static func check(_ name: String?, of daemon: DaemonChoice, within patience: Duration = usualPatience) throws {
        let app = try daemon.withClient(within: patience) { client throws(ControlClientError) in
            guard let name else { return only(try client.list().apps) }
            return try client.describe(DescribeRequest(name)).app
        }
        guard let app else {
            throw ValidationError(
                "watchdogd does not supervise exactly one app; name one ('watchdogd list' shows them)")
        }
        print(ControlText.ping(app))
        if app.isAnswering != true { throw ExitCode(1) }
    }

    private static func only(_ apps: [AppSummary]) -> AppSummary? { apps.count == 1 ? apps.first : nil }
}
