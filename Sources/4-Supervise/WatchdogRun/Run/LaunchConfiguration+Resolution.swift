// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

extension LaunchConfiguration {
    /// Resolves everything that a run of a command or an app needs.
    static func resolving(_ run: RunConfiguration) throws -> LaunchConfiguration {
        guard let app = run.app else { return try LaunchConfiguration(run) }
        let store = try run.reportStore
        try checkSummary(run.summary)
        var launch: LaunchConfiguration
        do throws(LaunchRefusal) {
            launch = try LaunchConfiguration(app, scope: .ofThisUser, store: store, warn: { StandardError.say($0) })
            store.keep(reportsOf: app.name.description, as: app.watchdog)
        } catch {
            throw RunError.internalFailure("\(app.name): \(error)")
        }
        if run.spec.lifecycle.launchesInBackground { launch.spec.lifecycle.launchesInBackground = true }
        if run.readsKeys { launch.streams = try streamsWithoutInput() }
        return launch
    }

    /// Resolves everything that a run names, so that mistakes are reported before anything is launched.
    init(_ run: RunConfiguration) throws {
        let user = try Self.user(named: run.user)
        let environment = Environment.inherited.forApp(variables: run.environment, user: user)
        // Check before creating anything, so that an invalid option leaves no trace.
        let probe = try Self.probe(run.probe)
        var spec = run.spec.onThisMachine
        spec.readinessTarget = probe?.description
        let store = try run.reportStore
        try Self.checkSummary(run.summary)
        let executable: String
        do {
            executable = try resolveExecutable(
                run.command[0].description,
                path: environment.searchPath,
                workingDirectory: run.workingDirectory
            )
        } catch {
            throw RunError("\(error)", exitCode: error.shellCode)
        }
        self.init(
            sharedSpec: Shared(wrappedValue: spec), executable: executable, arguments: run.command,
            environment: environment, workingDirectory: run.workingDirectory, credentials: user?.credentials,
            probe: probe, livenessTarget: run.livenessTarget, store: store, version: run.appVersion,
            streams: try run.readsKeys ? Self.streamsWithoutInput() : nil, takesCrashStacks: run.takesCrashStacks)
        link = Self.link(executable, in: workingDirectory)
    }

    private static func user(named name: String?) throws -> UserAccount? {
        guard let name else { return nil }
        let user: UserAccount
        do {
            user = try UserAccount.find(user: name)
        } catch {
            throw RunError.noUser("--user \(name): \(error); name one of /etc/passwd")
        }
        guard geteuid() == 0 || user.credentials.user == geteuid() else {
            throw RunError.notPermitted("--user \(name): only root can run programs as another user")
        }
        // Running as oneself changes nothing and needs no privilege.
        return geteuid() == 0 ? user : nil
    }

    private static func probe(_ probe: RunConfiguration.Probe?) throws -> Probe? {
        switch probe {
        case .listening(let text):
            do {
                return .listening(try NetworkAddress(parsing: text))
            } catch {
                throw RunError.usage("--readiness: \(error)")
            }
        case .command(let command): return .command(command)
        case nil: return nil
        }
    }

    /// The standard streams for a program without a keyboard: watchdogd reads the keys.
    private static func streamsWithoutInput() throws -> StandardStreams {
        do {
            return try StandardStreams.ownWithoutInput()
        } catch {
            throw RunError.internalFailure("\(error)")
        }
    }

    private static func checkSummary(_ target: RunConfiguration.SummaryTarget?) throws {
        if case .file(let path) = target { try AtomicFile.check(path, of: "--json") }
    }
}

extension RunConfiguration {
    /// The store of the reports, checked.
    fileprivate var reportStore: ReportStore {
        get throws(RunError) {
            let store = try ReportStore.prepared(at: reportsDirectory, prints: printsReports)
            store.keep(stacksOf: spec.name, keepsStacks)
            return store
        }
    }
}

extension ReportStore {
    /// The store that `--reports` names, checked.
    ///
    /// - Parameters:
    ///   - directory: nil for the default.
    ///   - prints: whether reports are printed instead.
    static func prepared(at directory: String?, prints: Bool) throws(RunError) -> ReportStore {
        // Nothing can be there, and nothing is written.
        if prints { return ReportStore(directory: "/dev/null/none") }
        let store = ReportStore(directory: directory ?? Run.defaultReportsDirectory)
        do {
            try store.prepare()
        } catch {
            let isHomeless = store.directory.hasPrefix("/dev/null/")
            let hint = isHomeless ? "; HOME is not set, so name a folder that only you can write" : ""
            throw RunError.cannotCreate("--reports: \(error)\(hint)")
        }
        return store
    }
}

extension Run {
    /// The default directory for reports: what `WATCHDOGD_REPORTS` names, or else
    /// `/var/log/watchdogd/reports` for root, otherwise the user's state directory (XDG Base Directory Specification).
    public static var defaultReportsDirectory: String {
        let environment = Environment.inherited
        if let named = environment["WATCHDOGD_REPORTS"], !named.isEmpty { return named }
        if geteuid() == 0 { return "/var/log/watchdogd/reports" }
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/watchdogd/reports" }
        return "\(environment.home)/.local/state/watchdogd/reports"
    }
}
