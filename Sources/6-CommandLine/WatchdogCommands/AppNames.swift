// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogControl
import WatchdogLaunch

/// Names of apps as typed: some may be patterns, which stand for the apps that they match, glob(7).
struct AppNames {
    let typed: [String]

    init(_ typed: [String]) { self.typed = typed }

    /// Whether a name stands for those that it matches.
    static func isPattern(_ name: String) -> Bool { Wildcard.isIn(name) }

    /// The apps of the daemon, each once; it is asked only if there is a pattern.
    func matches(_ daemon: ControlOptions, _ output: OutputOptions) throws -> [String] {
        try matches(of: daemon.choice, printsJSON: output.json)
    }

    /// The same within a time for the answer.
    func matches(
        of daemon: DaemonChoice, printsJSON: Bool = false, within patience: Duration = .seconds(10)
    ) throws -> [String] {
        guard typed.contains(where: Self.isPattern) else { return typed }
        let apps = try daemon.withClient(printsJSON: printsJSON, within: patience) {
            client throws(ControlClientError) in try client.list().apps
        }
        return try matches(among: apps.map(\.name), listedBy: "watchdogd list")
    }

    /// The same among known names; a name that is no pattern stands for itself.
    func matches(among names: [String], listedBy command: String) throws -> [String] {
        var result: [String] = []
        for name in typed {
            let matches = Self.isPattern(name) ? names.filter { Wildcard.matches($0, name) } : [name]
            guard !matches.isEmpty else {
                StandardError.say("no app matches '\(name)'; '\(command)' shows them")
                throw ExitCode(66)
            }
            result += matches.filter { !result.contains($0) }
        }
        return result
    }

    /// Runs the body for each app.
    ///
    /// A failure does not stop it for the others; the first one is thrown in the end.
    static func each(_ names: [String], _ body: (String) throws -> Void) throws {
        var failure: (any Error)?
        for name in names {
            do {
                try body(name)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}

extension ArgumentHelp {
    /// The help of an argument that takes apps.
    static func apps(_ abstract: String) -> ArgumentHelp {
        ArgumentHelp("\(abstract), or patterns such as 'web*'.", valueName: "app")
    }
}
