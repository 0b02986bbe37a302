// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogLaunch
import WatchdogLinux

/// The options of `watchdogd run` and `watchdogd serve` for the entry point of a container.
struct ContainerOptions: ParsableArguments {
    @Option(
        defaultAsFlag: "/dev/termination-log", parsing: .next,
        help: ArgumentHelp(
            "Write why the program ended, or with serve the last failure of an app, to this file (at most 4 KiB).",
            valueName: "file"),
        completion: .file())
    var terminationMessage: String?

    @Option(
        help: ArgumentHelp(
            "The engine kills the container this long after SIGTERM: warn if that leaves no time for a crash log.",
            valueName: "span"),
        transform: RunOptions.span)
    var gracePeriod: Duration?

    @Option(
        help: ArgumentHelp(
            "Format of messages on standard error: text or json (default: text).", valueName: "format"),
        completion: .list(LogFormat.allCases.map(\.rawValue)), transform: RunOptions.logFormat)
    var logFormat = LogFormat.text

    func validate() throws { _ = try knownGracePeriod() }

    /// What the option says, else the variable that a manifest may set.
    func knownGracePeriod() throws -> Duration? {
        let variable = "WATCHDOGD_GRACE_PERIOD"
        guard gracePeriod == nil, let text = Environment.inherited[variable], !text.isEmpty else { return gracePeriod }
        do {
            return try RunOptions.span(text)
        } catch {
            throw ValidationError("\(variable): \(error)")
        }
    }
}
