// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogPolicy

/// The option of `watchdogd run` for faults on demand.
struct RunFaultOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Inject a fault; may be repeated.",
            discussion: """
                "stop SPAN", "cpu N", "disk-full FOLDER", "cpu-quota P%" or "memory SIZE"; for the first three also \
                "at MOMENT", which is launch, ready, ready+2s or +5s, and for cpu and disk-full "for SPAN". A fault \
                that is impossible here is refused before the launch.
                """,
            valueName: "fault"),
        completion: .list(["stop ", "cpu ", "cpu-quota ", "memory ", "disk-full "]),
        transform: RunOptions.fault)
    var fault: [Fault] = []
}
