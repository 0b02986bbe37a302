// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Advice for a run that has no hang detection.
struct HangAdvice: Hashable {
    /// The option that would detect hangs, such as `--probe tcp:127.0.0.1:8000`; nil if hangs are detected.
    let option: String?

    /// - Parameters:
    ///   - isWatched: whether hangs of the program are detected.
    ///   - arguments: its command line.
    init(isWatched: Bool, _ arguments: [String], _ readiness: ReadinessSetting) {
        guard !isWatched else {
            option = nil
            return
        }
        let target = ProbeAdvice.target(arguments, readiness)?.singleLine(limit: 120)
        option = "--probe \(target ?? "tcp:ADDR, --probe http://ADDR/PATH or --probe exec:CMD")"
    }

    init(_ launch: AppLaunch) {
        let configuration = launch.shell.configuration
        var readiness = ReadinessSetting.automatic
        if case .listening(.tcp(_, let port)) = configuration.probe { readiness = .listening(.tcp(.any, port: port)) }
        self.init(
            isWatched: launch.supervisor.machine.isWatched, configuration.arguments.map(\.description), readiness)
    }

    /// Prints the advice about a program that has become ready, if there is any.
    func say(in narration: Narration, ready source: ReadinessSource) {
        guard narration.verbosity != .quiet, let line = line(about: narration.name, ready: source) else { return }
        StandardError.mention(line)
    }

    /// The line about a program that has become ready; nil if hangs are detected, or if that is not known yet.
    ///
    /// A program that reports its own readiness may start to answer pings or to push later. A program that counts as
    /// ready once it runs has shown nothing yet. A short command never becomes ready.
    func line(about name: String, ready source: ReadinessSource) -> String? {
        guard let option, source == .assumed || source == .probe else { return nil }
        return "nothing watches \(name) for hangs; add \(option)"
    }
}
