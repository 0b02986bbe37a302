// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// What to do about a run that nothing watches for hangs.
struct HangAdvice: Hashable {
    /// The option that would watch it: `--probe tcp:127.0.0.1:8000`; nil if something does.
    let option: String?

    /// - Parameters:
    ///   - isWatched: whether something watches the program for hangs.
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

    /// Says on standard error what there is to say about a program that has become ready.
    func say(in narration: Narration, ready source: ReadinessSource) {
        guard narration.verbosity != .quiet, let line = line(about: narration.name, ready: source) else { return }
        StandardError.mention(line)
    }

    /// The line about a program that has become ready; nil if something watches it, or if that is not known yet.
    ///
    /// One that says itself that it is ready may begin to answer or to push; of one that is ready as soon as it runs,
    /// nothing is known. A command that ends soon is never found ready.
    func line(about name: String, ready source: ReadinessSource) -> String? {
        guard let option, source == .assumed || source == .probe else { return nil }
        return "nothing watches \(name) for hangs; add \(option)"
    }
}
