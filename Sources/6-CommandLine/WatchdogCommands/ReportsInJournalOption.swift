// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Whether journal entries carry reports: of `watchdogd run` and `watchdogd serve`.
struct ReportsInJournalOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whether journal entries carry crash logs: yes or no (default: yes).", valueName: "yes|no"),
        completion: .list(["yes", "no"]), transform: Self.choice)
    var reportsInJournal: Bool?

    private static func choice(_ text: String) throws -> Bool {
        switch text {
        case "yes": return true
        case "no": return false
        default: throw ValidationError("use yes or no")
        }
    }
}
