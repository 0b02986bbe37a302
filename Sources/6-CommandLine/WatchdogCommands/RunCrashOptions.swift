// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The options of `watchdogd run` about programs that crash, and about stacks.
struct RunCrashOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Unexpected exits to report: all, signals (not exit codes) or off (default: signals).",
            valueName: "which"),
        completion: .list(["all", "signals", "off"]),
        transform: RunOptions.crashReports
    )
    var crashReports: CrashReportChoice?

    @Flag(help: "Let the kernel write a core file when the program crashes, and read the stacks from it.")
    var crashStacks = false

    @Flag(
        help: """
            Keep the stacks of hangs and crashes beside the crash logs, for 'report core'; they are the program's \
            memory, secrets included.
            """)
    var keepStacks = false
}
