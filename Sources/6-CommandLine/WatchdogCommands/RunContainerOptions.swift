// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogDaemon
import WatchdogRun

/// The options of `watchdogd run` for the entry point of a container.
struct RunContainerOptions: ParsableArguments {
    @OptionGroup var shared: ContainerOptions

    @Option(help: ArgumentHelp("Program version to use in reports.", valueName: "version"))
    var appVersion: String?

    @Option(
        help: ArgumentHelp(
            "Answer 'watchdogd ping', 'list', 'status' and 'metrics' on this socket.", valueName: "path"),
        completion: .file())
    var control: String?

    @Option(
        help: ArgumentHelp(
            "Serve Prometheus metrics at http://ADDR:PORT/metrics; PORT alone listens on localhost.",
            valueName: "addr:port"))
    var metrics: String?

    @Option(
        help: ArgumentHelp(
            "Keep the counts of the metrics in this file, and continue from those in it.", valueName: "file"),
        completion: .file())
    var keepCounts: String?

    func validate() throws {
        guard keepCounts != "" else {
            throw ValidationError("--keep-counts is empty; give it a value or leave it out")
        }
        guard keepCounts == nil || metrics != nil || control != nil else {
            throw ValidationError("--keep-counts needs --metrics or --control, which show the counts")
        }
        guard control != "" else { throw ValidationError("--control is empty; give it a value or leave it out") }
        _ = try metrics.map(MetricsOptions.address)
        guard let appVersion else { return }
        guard (1...128).contains(appVersion.utf8.count), !appVersion.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else { throw ValidationError("--app-version is empty, longer than 128 bytes or has control characters") }
    }

    func apply(to configuration: inout RunConfiguration) throws {
        configuration.terminationMessage = shared.terminationMessage
        configuration.gracePeriod = try shared.knownGracePeriod()
        configuration.logFormat = shared.logFormat
        configuration.controlPath = control
        configuration.metrics.address = try metrics.map(MetricsOptions.address)
        configuration.metrics.counts = keepCounts
        if let appVersion { configuration.appVersion = appVersion }
    }
}
