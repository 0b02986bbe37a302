// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogPolicy

/// The option of `watchdogd run` for faults on demand.
struct RunFaultOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Inject a fault; may be repeated.",
            discussion: """
                "stop SPAN", "main-hang SPAN", "cpu N", "io-slow [SIZE]", "disk-full FOLDER", "network PROFILE", \
                "network loss P%", "network dns-delay SPAN", "network cut SPAN" or "kill-watchdogd", with "at MOMENT", \
                which is launch, ready, ready+2s or +5s; those without a SPAN, except "kill-watchdogd", also take \
                "for SPAN". Or, from the launch to the end, "cpu-quota P%", "memory SIZE" or "clock +SPAN". If a fault is impossible here, watchdogd refuses to launch the command.
                """,
            valueName: "fault"),
        completion: .list(Fault.names.map { $0 == "kill-watchdogd" ? $0 : "\($0) " }),
        transform: RunOptions.fault)
    var fault: [Fault] = []
}
