// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogControl
import WatchdogLaunch

/// `watchdogd metrics`: what Prometheus reads.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Print metrics of the daemon and its apps, or of a run, for Prometheus.",
        discussion: """
            Prints the text format, version 0.0.4. The daemon can also write it for node_exporter ('watchdogd serve \
            --metrics-file') or serve it over HTTP ('watchdogd serve --metrics'); so can a run ('watchdogd run --metrics').
            """
    )

    @OptionGroup var daemon: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let reply = try daemon.withClient(output) { client throws(ControlClientError) in try client.metrics() }
        guard !output.json else { return StandardOutput.emit(ControlText.json(reply)) }
        for part in reply.parts { StandardOutput.emit(part) }
    }
}
