// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension DaemonApp {
    /// Runs the commands of `ExecReload=`.
    ///
    /// - Parameters:
    ///   - waits: whether the answer is to come when the app has reloaded, not already when it is asked.
    ///   - answer: the way back.
    func reload(waits: Bool, answer: ControlAnswer<ReloadAppReply>) {
        guard !configuration.program.reloadCommands.isEmpty else {
            return answer.fail(.refused(name, reason: "reload: its configuration has no ExecReload= in [App]"))
        }
        guard case .live(let launch) = stage, launch.pid != nil else { return answer.fail(.notRunning(name)) }
        if let obstacle = obstacle(to: launch) {
            return answer.fail(.refused(name, reason: "reload: \(obstacle)"))
        }
        let machine = launch.supervisor.machine
        do {
            let reload = try begin(
                ReloadMachine(
                    commandCount: configuration.program.reloadCommands.count, allowance: configuration.reloadAllowance,
                    fairness: machine.spec.fairness, lastProgress: machine.lastProgress,
                    mayAnnounce: launch.readiness == .notify, at: launch.kernel.now),
                of: launch)
            if waits { reloadAnswer = answer } else { answer.succeed(ReloadAppReply()) }
            reload.begin()
        } catch {
            answer.fail(.reloadFailed(name, reason: "\(error)"))
        }
    }

    /// Goes on with a reload of the watchdogd before this one, before the app is heard.
    func resume(_ kept: KeptReload, of launch: AppLaunch) {
        guard kept.commands == configuration.program.reloadCommands, let reload = try? begin(kept.machine, of: launch)
        else {
            kept.command?.end()
            return daemon.later { [self] in
                launch.kernel.settleReload()
                reloaded(.failed("it was cut off: its ExecReload= is another one now"), of: launch)
            }
        }
        guard !reload.goOn(with: kept.command) else { return }
        daemon.later { [weak reload] in reload?.lost() }
    }

    private func begin(_ machine: ReloadMachine, of launch: AppLaunch) throws -> AppReload {
        let reload = try AppReload(
            of: launch, configuration.program, machine,
            tell: { [unowned self] in daemon.publish($0, of: self, $1, launch.kernel.subject, isDetail: true) },
            finish: { [weak self] in self?.reloaded($0, of: launch) })
        self.reload = reload
        launch.supervisor.onNotify = { [weak reload] in reload?.heard($0) }
        launch.supervisor.onExtension = { [weak reload] in reload?.extensionRequested(by: $0, $1) }
        return reload
    }

    private func obstacle(to launch: AppLaunch) -> String? {
        guard reload == nil else { return "it is reloading already" }
        guard launch.supervisor.machine.lifecycleState != .suspended else { return "it is suspended" }
        return switch launch.supervisor.machine.phase {
        case .running: nil
        case .idle, .launching: "it is not ready yet"
        case .capturing: "its stacks are being taken"
        case .terminating, .dying, .ended: "it is ending"
        }
    }

    private func reloaded(_ result: AppReload.Result, of launch: AppLaunch) {
        // What ended the app has ended the command too.
        if case .failed = result, isEnding(launch) { return abandonReload() }
        let answer = reloadAnswer
        forgetReload(of: launch)
        let subject = launch.kernel.subject
        switch result {
        case .done(let duration, let isConfirmed):
            let how = isConfirmed ? "" : "; it did not say so itself"
            daemon.publish(.appReloaded, of: self, "reloaded within \(duration.brief)\(how)", subject)
            answer?.succeed(ReloadAppReply(duration: duration, isConfirmed: isConfirmed))
        case .failed(let reason):
            daemon.publish(.reloadFailed, of: self, "could not be reloaded: \(reason)", subject)
            answer?.fail(.reloadFailed(name, reason: reason))
        }
    }

    private func isEnding(_ launch: AppLaunch) -> Bool {
        switch launch.supervisor.machine.phase {
        case .dying, .ended: true
        case .idle, .launching, .running, .terminating, .capturing: false
        }
    }

    /// The app has ended: it will not reload any more.
    func abandonReload() {
        guard let reload, let latest else { return }
        reload.cancel()
        let answer = reloadAnswer
        forgetReload(of: latest)
        answer?.fail(.reloadFailed(name, reason: "it has ended"))
    }

    private func forgetReload(of launch: AppLaunch) {
        launch.supervisor.onNotify = { _ in }
        launch.supervisor.onExtension = { _, _ in }
        reload = nil
        reloadAnswer = nil
    }
}
