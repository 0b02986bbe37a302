// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Resolves users, paths and programs for a launch off the loop, and creates the launch.
///
/// Isolation: the loop's thread.
final class LaunchCreation {
    private let name: String
    /// The app's own lane of ``BlockingWork``, so that its blocking calls delay no other app.
    private let lane: Int
    private unowned let daemon: Daemon
    private var lookup: BlockingWork.Ticket?
    /// The program that the last launch found and executed; nil to search for it again.
    private var program: String?
    /// The link that ``program`` is.
    private var link: ProgramLink?

    init(of name: String, by daemon: Daemon) {
        self.name = name
        self.daemon = daemon
        lane = daemon.host.makeKey()
    }

    /// - Parameters:
    ///   - event: the event that the app is launched for.
    ///   - end: called with the launch, whose process is not started yet, or with the error.
    func begin(
        _ configuration: AppConfiguration, for event: LaunchingEvent?,
        then end: @escaping (Result<AppLaunch, any Error>) -> Void
    ) {
        do {
            try daemon.host.checkNothingRuns(of: name)
            try OpenFileLimit.checkRoom()
            if configuration.program.names(nothingBut: program), daemon.host.launchTurn.take() {
                var found = try LaunchLookup(known: configuration, scope: daemon.places.scope, store: daemon.store)
                found.configuration.link = link
                return end(Result { try create(found, for: event) })
            }
        } catch {
            return end(.failure(error))
        }
        lookup = LaunchLookup.begin(
            configuration, scope: daemon.places.scope, store: daemon.store, on: daemon.host, lane: lane
        ) { [weak self] result in
            guard let self else { return }
            lookup = nil
            end(
                Result {
                    let found = try result.get()
                    (self.program, self.link) = (configuration.program.command.program, found.configuration.link)
                    // Checked again: other launches, which passed the first check in the same turn, have opened
                    // descriptors since.
                    try OpenFileLimit.checkRoom()
                    return try self.create(found, for: event)
                })
        }
    }

    /// Cancels the creation; the completion handler is not called.
    func cancel() {
        if let lookup { daemon.host.work.cancel(lookup) }
        lookup = nil
    }

    /// Discards the program's path after it could not be executed.
    func forgetProgram() { program = nil }

    private func create(_ found: LaunchLookup, for event: LaunchingEvent?) throws -> AppLaunch {
        for warning in found.warnings { daemon.announcer.say("\(name): \(warning)") }
        var launching = found.configuration
        daemon.share(&launching)
        launching.launchingEvent = event
        if let refusal = launching.streams?.journalRefusal {
            daemon.host.journalRefused(
                refusal, EventSubject(app: launching.name, launch: launching.launchID.description))
        }
        let launch = try AppLaunch(launching, on: daemon.host)
        for refusal in launch.shell.limitCgroup() { daemon.announcer.say("\(name) \(refusal)") }
        try launch.shell.start(launch.supervisor)
        return launch
    }
}
