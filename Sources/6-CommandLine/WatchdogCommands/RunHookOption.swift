// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import WatchdogBase
public import WatchdogConfiguration

extension IncidentHook.Occasion: ExpressibleByArgument {}

/// The options of `watchdogd run` for a command that runs after an incident.
struct RunHookOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Run this shell command after each report of a kill or crash; it finds the report in WATCHDOGD_REPORT.",
            valueName: "command"))
    var onIncident: String?

    @Option(
        help: ArgumentHelp("Kill that command after this time (default: 30s).", valueName: "span"),
        transform: RunOptions.span)
    var onIncidentTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Run that command for failures, or for all, which includes hangs that end by themselves (default: failures).",
            valueName: "what"))
    var onIncidentFor: IncidentHook.Occasion?

    func validate() throws {
        guard onIncident?.contains(where: { !$0.isWhitespace }) ?? true else {
            throw ValidationError("--on-incident is empty; give it a command or leave it out")
        }
        for (name, isGiven) in [("timeout", onIncidentTimeout != nil), ("for", onIncidentFor != nil)] where isGiven {
            guard onIncident != nil else {
                throw ValidationError("--on-incident-\(name) has no effect without --on-incident")
            }
        }
        if let onIncidentTimeout, onIncidentTimeout > IncidentHook.longestTimeout {
            throw ValidationError("--on-incident-timeout is out of range; use at most 1 h")
        }
    }

    /// The command with its limit; nil without `--on-incident`.
    var hook: IncidentHook? {
        guard let onIncident else { return nil }
        var hook = IncidentHook(onIncident)
        hook.timeout = onIncidentTimeout ?? hook.timeout
        hook.includesHangs = onIncidentFor == .all
        return hook
    }
}
