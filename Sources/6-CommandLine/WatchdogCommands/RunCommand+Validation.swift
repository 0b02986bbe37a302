// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

extension RunCommand {
    func validate() throws {
        try app == nil ? validateCommand() : validateApp()
        guard !(quiet && verbose) else {
            throw ValidationError("--quiet and --verbose cannot be combined")
        }
        guard lifecycle.script == nil || expect.isEmpty else {
            throw ValidationError("--script and --expect cannot be combined; write the expectation in the script")
        }
        guard json != "-" || tap != "-" else {
            throw ValidationError("--json - and --tap - would both write to standard output; give one of them a file")
        }
        for (option, value) in [
            ("app", app), ("config", config), ("name", name), ("reports", reports), ("json", json), ("user", user),
            ("chdir", chdir), ("script", lifecycle.script), ("junit", junit), ("tap", tap),
        ] {
            guard value != "" else { throw ValidationError("--\(option) is empty; give it a value or leave it out") }
        }
    }

    /// Rejects options for what the app's file sets, so that there is only one place to check.
    private func validateApp() throws {
        let given: [(String, Bool)] = [
            ("--name", name != nil), ("--launch", launch != nil), ("--update", update != nil),
            ("--terminate", terminate != nil), ("--ping", ping != nil), ("--readiness", readiness != nil),
            ("--enforce", enforce != nil), ("--crash-reports", crashes.crashReports != nil),
            ("--crash-stacks", crashes.crashStacks), ("--keep-stacks", crashes.keepStacks),
            ("--on-incident", hook.onIncident != nil), ("--on-incident-timeout", hook.onIncidentTimeout != nil),
            ("--on-incident-for", hook.onIncidentFor != nil),
            ("--reports-in-journal", journal.reportsInJournal != nil),
            ("--background-time", lifecycle.backgroundTime != nil),
            ("--background-cpu", lifecycle.backgroundCPU != nil), ("--time-scale", timeScale != nil),
            ("--user", user != nil), ("--app-version", container.appVersion != nil),
            ("--chdir", chdir != nil), ("--probe", probing.probe != nil),
            ("--env", !environment.isEmpty), ("a command", !command.isEmpty),
        ]
        if let (what, _) = given.first(where: \.1) {
            throw ValidationError("\(what) and --app cannot be combined; set it in the app's file or in a drop-in")
        }
    }

    private func validateCommand() throws {
        if case .probe = readiness, probing.probe == nil {
            throw ValidationError("--readiness probe requires --probe")
        }
        guard !crashes.keepStacks || reports != "none" else {
            throw ValidationError("--keep-stacks and --reports none cannot be combined: stacks are kept beside reports")
        }
        guard config == nil else { throw ValidationError("--config requires --app") }
        guard !command.isEmpty else {
            let words = CommandLine.arguments.drop { $0 != "run" }.dropFirst()
            if !words.contains("--") { try refuseUnmarkedCommand(words) }
            throw ValidationError("a command is missing; write watchdogd run [options] -- COMMAND [ARGS...]")
        }
        guard factor.isFinite, factor >= 0.001, factor <= 1000 else {
            throw ValidationError("--time-scale \(factor) is out of range; use a factor from 0.001 to 1000")
        }
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("the command is empty; write watchdogd run [options] -- COMMAND [ARGS...]")
        }
    }

    /// Refuses words of which some look like a program, without `--` before it.
    private func refuseUnmarkedCommand(_ words: ArraySlice<String>) throws {
        if let option = words.first(where: { ["-d", "--detach", "--daemon"].contains($0) }) {
            throw ValidationError("there is no \(option): run stays in the foreground; use 'watchdogd serve' instead")
        }
        if let first = words.first, !first.hasPrefix("-") {
            throw ValidationError("put -- before the program: watchdogd run -- \(words.joined(separator: " "))")
        }
        // Of two words in a row, the second is not the value of an option.
        if zip(words, words.dropFirst()).contains(where: { !$0.hasPrefix("-") && !$1.hasPrefix("-") }) {
            throw ValidationError("put -- before the program: watchdogd run [options] -- COMMAND [ARGS...]")
        }
    }
}
