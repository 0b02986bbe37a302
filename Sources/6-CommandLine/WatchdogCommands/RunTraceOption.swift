// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The option of `watchdogd run` for a trace.
struct RunTraceOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Record pings, probes and events in this file, for 'watchdogd simulate'.", valueName: "file"),
        completion: .file())
    var trace: String?

    func validate() throws {
        guard trace != "" else { throw ValidationError("--trace is empty; give it a file or leave it out") }
    }
}
