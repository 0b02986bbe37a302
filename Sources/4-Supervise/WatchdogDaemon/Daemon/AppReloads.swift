// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogMetrics
import WatchdogPolicy

/// The reload of an app in progress, and the client waiting for it.
///
/// Isolation: the loop's thread.
final class AppReloads {
    private unowned let app: DaemonApp
    private var reload: (AppReload, of: AppLaunch)?
    private var answer: ControlAnswer<ReloadAppReply>?

    init(of app: DaemonApp) {
        self.app = app
    }

    var isUnderWay: Bool { reload != nil }

    /// Runs the commands of `ExecReload=`.
    ///
    /// - Parameters:
    ///   - waits: whether to answer when the app has reloaded, rather than when the reload starts.
    ///   - answer: where the answer goes.
    func request(waits: Bool, answer: ControlAnswer<ReloadAppReply>) {
        guard let configuration = app.configuration, !configuration.program.reloadCommands.isEmpty else {
            return answer.fail(.refused(app.name, reason: "reload: its configuration has no ExecReload= in [App]"))
        }
        guard let launch = app.live, launch.pid != nil else { return answer.fail(.notRunning(app.name)) }
        let machine = launch.supervisor.machine
        if let obstacle = machine.reloadObstacle(isReloading: isUnderWay) {
            return answer.fail(.refused(app.name, reason: "reload: \(obstacle.words)"))
        }
        do {
            let reload = try begin(
                ReloadMachine(
                    commandCount: configuration.program.reloadCommands.count, allowance: configuration.reloadAllowance,
                    fairness: machine.spec.fairness, lastProgress: machine.lastProgress,
                    mayAnnounce: launch.readiness == .notify, at: launch.shell.now),
                configuration.program, of: launch)
            if waits { self.answer = answer } else { answer.succeed(ReloadAppReply()) }
            reload.begin()
        } catch {
            answer.fail(.reloadFailed(app.name, reason: "\(error)"))
        }
    }

    /// Resumes a reload of the previous watchdogd, before any message of the app is handled.
    func resume(_ kept: KeptReload, of launch: AppLaunch) {
        guard let program = app.configuration?.program, kept.commands == program.reloadCommands,
            let reload = try? begin(kept.machine, program, of: launch)
        else {
            kept.command?.end()
            return app.daemon.later { [self] in
                launch.shell.keepReload(nil)
                ended(.failed("it was cancelled because its ExecReload= changed"), of: launch)
            }
        }
        let isRunning = reload.resume(with: kept.command)
        app.daemon.later { [weak reload] in
            if !isRunning { reload?.lost() }
            reload?.returned()
        }
    }

    private func begin(_ machine: ReloadMachine, _ program: ProgramSettings, of launch: AppLaunch) throws -> AppReload {
        let app = app
        let reload = try AppReload(
            of: launch, program, machine,
            tell: { app.daemon.announcer.publish($0, of: app.name, $1, launch.shell.subject, isDetail: true) },
            finish: { [weak self] in self?.ended($0, of: launch) })
        self.reload = (reload, launch)
        launch.supervisor.onNotify = { [weak reload] in reload?.heard($0) }
        launch.supervisor.onExtension = { [weak reload] in reload?.extensionRequested(by: $0, $1) }
        return reload
    }

    private func ended(_ result: AppReload.Result, of launch: AppLaunch) {
        switch (result, launch.supervisor.machine.phase) {
        // The app's end also ended the command.
        case (.failed, .dying), (.failed, .ended): return abandon()
        default: break
        }
        let answer = forget(launch)
        let subject = launch.shell.subject
        switch result {
        case .done(let duration, let isConfirmed):
            app.count { $0.reloaded(in: duration) }
            let how = isConfirmed ? "" : "; the app did not confirm that"
            app.daemon.announcer.publish(.appReloaded, of: app.name, "reloaded within \(duration.brief)\(how)", subject)
            answer?.succeed(ReloadAppReply(duration: duration, isConfirmed: isConfirmed))
        case .failed(let reason):
            app.daemon.announcer.publish(.reloadFailed, of: app.name, "could not be reloaded: \(reason)", subject)
            answer?.fail(.reloadFailed(app.name, reason: reason))
        }
    }

    /// Fails the reload, because the app has ended.
    func abandon() {
        guard let reload else { return }
        reload.0.cancel()
        forget(reload.of)?.fail(.reloadFailed(app.name, reason: "it has ended"))
    }

    private func forget(_ launch: AppLaunch) -> ControlAnswer<ReloadAppReply>? {
        defer { (reload, answer) = (nil, nil) }
        launch.supervisor.onNotify = { _ in }
        launch.supervisor.onExtension = { _, _ in }
        return answer
    }
}

extension ReloadObstacle {
    fileprivate var words: String {
        switch self {
        case .reloading: "it is already reloading"
        case .suspended: "it is suspended"
        case .notReady: "it is not ready yet"
        case .capturing: "its stacks are being captured"
        case .ending: "it is ending"
        }
    }
}
