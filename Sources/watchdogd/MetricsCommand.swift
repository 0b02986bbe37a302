// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl

/// `watchdogd metrics`: what Prometheus reads.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Print the metrics of the daemon and its apps, for Prometheus.",
        discussion: """
            Prints the text format, version 0.0.4, which the daemon also writes for node_exporter ('watchdogd serve \
            --metrics-file') and serves itself ('watchdogd serve --metrics').
            """
    )

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in try client.metrics() }
        guard !output.json else { return print(ControlText.json(reply), terminator: "") }
        for part in reply.parts { print(part, terminator: "") }
    }
}
