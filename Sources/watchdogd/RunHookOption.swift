// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `--on-incident` of `watchdogd run`.
struct RunHookOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Run this shell command after each report of a kill or crash; it finds the report in WATCHDOGD_REPORT.",
            valueName: "command"))
    var onIncident: String?

    func validate() throws {
        guard onIncident?.contains(where: { !$0.isWhitespace }) ?? true else {
            throw ValidationError("--on-incident is empty; give it a command or leave it out")
        }
    }
}
