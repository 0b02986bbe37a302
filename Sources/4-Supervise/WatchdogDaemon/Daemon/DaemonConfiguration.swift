// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Reads the files of the apps, and gives each app its configuration.
///
/// Isolation: the loop's thread.
final class DaemonConfiguration {
    private unowned let daemon: Daemon
    /// The files that cannot be used.
    private(set) var invalidFiles: [InvalidFile] = []
    /// The configuration of each app, for comparison: one text each, because a text takes less memory than a list of texts.
    private var settings: [String: String] = [:]
    /// In no setting.
    private static let separator: Character = "\0"

    init(of daemon: Daemon) {
        self.daemon = daemon
    }

    /// Takes what is configured when the daemon starts.
    ///
    /// An app whose files are invalid is listed with its diagnostics.
    func begin(with listing: ConfigurationListing) {
        for diagnostic in diagnostics(of: listing) {
            daemon.announcer.say(diagnostic.description, as: LogLevel(ControlDiagnostic(diagnostic)))
        }
        invalidFiles = listing.invalidFiles
        keepSettings(of: listing)
        handDownControllers(for: listing)
        var neighbour: AppConfiguration?
        daemon.add(
            listing.valid.map { configuration, file in
                let configuration = configuration.sharing(with: neighbour)
                neighbour = configuration
                return makeApp(configuration, file: file, resuming: true)
            })
    }

    private func keepSettings(of listing: ConfigurationListing) {
        settings = listing.settings.mapValues { $0.joined(separator: String(Self.separator)) }
    }

    /// What is wrong or doubtful, and what does not fit into the time that the daemon has.
    private func diagnostics(of listing: ConfigurationListing) -> [ConfigurationDiagnostic] {
        listing.allDiagnostics + listing.warnings(ofGracePeriod: daemon.gracePeriod)
    }

    /// Reads the configuration again, beside the loop; nothing changes unless all of it is valid.
    ///
    /// - Parameter isDryRun: whether to answer what would change, and change nothing.
    func reload(isDryRun: Bool = false, answering answer: ControlAnswer<ReloadReply>? = nil) {
        let directory = daemon.places.configurationDirectory
        daemon.disks.read {
            Result { () throws(ConfigurationReadError) in
                try ConfigurationLoader(HostFileSystem.ofDaemon, specifiers: .host).load(directory: directory)
            }
        } then: { [unowned self] in
            read($0, isDryRun: isDryRun, answer)
        }
    }

    private func read(
        _ result: Result<ConfigurationListing, ConfigurationReadError>, isDryRun: Bool,
        _ answer: ControlAnswer<ReloadReply>?
    ) {
        switch result {
        case .failure(let error):
            refuse(
                [ControlDiagnostic(.error, file: daemon.places.configurationDirectory, message: error.description)],
                isDryRun: isDryRun, answer)
        case .success(let listing) where listing.allDiagnostics.contains(where: { $0.severity == .error }):
            refuse(listing.allDiagnostics.map(ControlDiagnostic.init), isDryRun: isDryRun, answer)
        case .success(let listing) where isDryRun:
            answer?.succeed(daemon.isStopping ? ReloadReply(unchanged: daemon.apps.count) : plan(listing))
        case .success(let listing):
            let reply = apply(listing)
            daemon.announcer.publish(reply)
            answer?.succeed(reply)
        }
    }

    private func makeApp(_ configuration: AppConfiguration, file: String, resuming: Bool = false) -> DaemonApp {
        let name = configuration.name.description
        return DaemonApp(
            name, configuration, file: file, configuration.isEnabled ? .enabled : .disabled, of: daemon,
            resuming: resuming ? daemon.host.survival?.kept(name) : nil)
    }

    /// Only where an app needs it: it may mean to move this process to another cgroup.
    private func handDownControllers(for listing: ConfigurationListing) {
        let needed = Set(listing.valid.flatMap { $0.configuration.program.cgroupLimits.controllers })
        if !needed.isEmpty { _ = daemon.host.cgroupParent?.enable(needed.sorted()) }
    }

    private func refuse(
        _ diagnostics: [ControlDiagnostic], isDryRun: Bool, _ answer: ControlAnswer<ReloadReply>?
    ) {
        defer { answer?.fail(.invalidConfiguration(diagnostics)) }
        guard !isDryRun else { return }
        let line = "the configuration is invalid; nothing was changed"
        daemon.announcer.tell(line, JournalEntry(.configurationInvalid, line))
        for diagnostic in diagnostics {
            daemon.announcer.say(diagnostic.description, as: LogLevel(diagnostic))
        }
    }

    /// What ``apply(_:)`` would change.
    private func plan(_ listing: ConfigurationListing) -> ReloadReply {
        var reply = ReloadReply(warnings: diagnostics(of: listing).map(ControlDiagnostic.init))
        var changes: [AppChange] = []
        let new = listing.settings
        var removed = Set(daemon.appNames)
        for (configuration, _) in listing.valid {
            let name = configuration.name.description
            removed.remove(name)
            let app = daemon.apps[name]
            if let app, app.configuration == configuration, app.machine.standing != .removed {
                reply.unchanged += 1
                continue
            }
            if app == nil { reply.added.append(name) } else { reply.changed.append(name) }
            let isKept = app?.configuration.map(configuration.allowsProcess) ?? true
            let endsProcess = !isKept && app?.machine.current != nil
            changes.append(
                AppChange(name: name, endsProcess: endsProcess, from: formerSettings(of: name), to: new[name] ?? []))
        }
        reply.removed = removed.sorted()
        changes += reply.removed.map { name in
            let isRunning = daemon.apps[name]?.machine.current != nil
            return AppChange(name: name, endsProcess: isRunning, from: formerSettings(of: name), to: [])
        }
        reply.changes = changes
        return reply
    }

    private func formerSettings(of name: String) -> [String] {
        (settings[name] ?? "").split(separator: Self.separator).map(String.init)
    }

    private func apply(_ listing: ConfigurationListing) -> ReloadReply {
        guard !daemon.isStopping else { return ReloadReply(unchanged: daemon.apps.count) }
        var reply = ReloadReply(warnings: diagnostics(of: listing).map(ControlDiagnostic.init))
        var added: [DaemonApp] = []
        var claimed: [(app: DaemonApp, AppConfiguration, file: String)] = []
        var removed = Set(daemon.appNames)
        var restarted: [String] = []
        var neighbour: AppConfiguration?
        for (configuration, file) in listing.valid {
            let name = configuration.name.description
            let configuration = configuration.sharing(with: neighbour)
            neighbour = daemon.apps[name]?.configuration ?? configuration
            removed.remove(name)
            guard let app = daemon.apps[name] else {
                reply.added.append(name)
                if let app = daemon.claim(name) {
                    claimed.append((app, configuration, file))
                } else {
                    added.append(makeApp(configuration, file: file))
                }
                continue
            }
            if app.configuration == configuration, app.machine.standing != .removed {
                reply.unchanged += 1
            } else {
                let isKept = app.configuration.map(configuration.allowsProcess) ?? true
                if !isKept, app.machine.current != nil { restarted.append(name) }
                app.update(configuration, file: file)
                reply.changed.append(name)
            }
        }
        invalidFiles = []
        keepSettings(of: listing)
        handDownControllers(for: listing)
        daemon.add(added + claimed.map(\.app))
        for (app, configuration, file) in claimed { app.update(configuration, file: file) }
        for app in added { app.driver.receive(.begun) }
        for name in removed { daemon.apps[name]?.driver.receive(.unconfigured) }
        reply.removed = removed.sorted()
        reply.restarted = restarted.isEmpty ? nil : restarted
        return reply
    }
}
