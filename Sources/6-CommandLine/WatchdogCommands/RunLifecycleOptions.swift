// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration
import WatchdogPolicy
import WatchdogRun

/// The lifecycle options of `watchdogd run`.
struct RunLifecycleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Run this lifecycle script, and exit 0 only if every step succeeds.", valueName: "file")
    )
    var script: String?

    @Option(
        help: ArgumentHelp("Time allowed for open tasks in the background (default: 30s).", valueName: "span"),
        transform: RunOptions.span)
    var backgroundTime: Duration?

    @Option(
        name: .customLong("background-cpu"),
        help: ArgumentHelp("CPU time allowed per stay in the background.", valueName: "span"),
        transform: RunOptions.span)
    var backgroundCPU: Duration?

    @Flag(help: "Control the app with keys; ? lists them. The program's standard input is then empty.")
    var keys = false

    @Option(
        help: ArgumentHelp(
            "Take requests from this inherited stream socket and report events on it. The app is killed when the "
                + "other end closes.",
            valueName: "descriptor"))
    var remote: Int32?

    @Flag(help: "Draw a timeline of the launch.")
    var showLaunch = false

    @Flag(help: "Do not have the kernel record how the program starts.")
    var noRecordLaunches = false

    func apply(to allowances: inout LifecycleAllowances) {
        allowances.background = backgroundTime ?? allowances.background
        allowances.expiration = min(allowances.expiration, allowances.background)
        allowances.backgroundCPUTime = backgroundCPU
    }

    /// Reads the whole script before anything is launched.
    func apply(to configuration: inout RunConfiguration) throws {
        configuration.readsKeys = keys
        configuration.remote = remote
        configuration.showsLaunch = showLaunch
        guard let script = try script.map(RunScript.read) else { return }
        configuration.script = script
        configuration.spec.lifecycle.launchesInBackground = script.launchesInBackground
    }
}
