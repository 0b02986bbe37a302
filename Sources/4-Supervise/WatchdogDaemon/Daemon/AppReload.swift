// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// One run of the commands in `ExecReload=`, which make an app reread its own configuration.
///
/// Isolation: the loop's thread.
final class AppReload {
    /// How it ended.
    enum Result {
        /// It succeeded in this time; `isConfirmed` if the app itself said so.
        case done(Duration, isConfirmed: Bool)
        /// One sentence without a period.
        case failed(String)
    }

    private let launch: AppLaunch
    private let program: ProgramSettings
    private var machine: ReloadMachine
    /// The app's main thread when the reload began; a watchdogd that takes over has none, and grants no credit.
    private var window: ProcessProbe.Usage?
    /// The command that is running or about to run.
    private var command: KeptCommand?
    /// The lookup of what the next command needs.
    private var lookup: BlockingWork.Ticket?
    private var timer: Timer?
    /// How the latest command ended, as in "/bin/kill *exited with code 1*".
    private var lastEnd = ""
    private let tell: (ControlEvent.Kind, String) -> Void
    private let finish: (Result) -> Void

    /// Prepares a reload.
    ///
    /// - Parameters:
    ///   - launch: the launch of a running app.
    ///   - program: the app's configuration.
    ///   - machine: a new reload, or that of the previous watchdogd.
    ///   - tell: called when the app requests an extension, with what was decided.
    ///   - finish: called once, but not after ``cancel()``.
    init(
        of launch: AppLaunch, _ program: ProgramSettings, _ machine: ReloadMachine,
        tell: @escaping (ControlEvent.Kind, String) -> Void, finish: @escaping (Result) -> Void
    ) throws {
        self.launch = launch
        self.program = program
        self.machine = machine
        self.tell = tell
        self.finish = finish
        timer = try launch.shell.host.timer(priority: .idle) { [unowned self] _ in handle(.deadlineReached) }
    }

    /// What the next watchdogd needs; nil when the reload is over.
    var kept: KeptReload? {
        guard machine.nextDeadline != nil else { return nil }
        return KeptReload(machine: machine, commands: program.reloadCommands, command: command)
    }

    func begin() {
        window = launch.shell.evidence.main.usage()
        handle(.begun)
    }

    /// Continues a reload of the previous watchdogd.
    ///
    /// - Parameter kept: the command that was running.
    /// - Returns: false if it is gone, and how it ended is unknown.
    func resume(with kept: KeptCommand?) -> Bool {
        timer?.arm(at: machine.nextDeadline)
        launch.shell.keepReload(self.kept)
        guard let index = machine.running else { return true }
        command = kept
        return launch.shell.commands.reload.resume(kept) { [weak self] in self?.ended(index, $0) }
    }

    /// Repeats an examination whose answer the previous watchdogd may have lost.
    func returned() { handle(.supervisorReturned) }

    /// Handles the end of a command whose exit status is unknown.
    func lost() {
        if let index = machine.running { ended(index, .success(.unknown)) }
    }

    /// Cancels the running command, without a result.
    func cancel() {
        timer?.cancel()
        cancelCommand()
        launch.shell.keepReload(nil)
    }

    /// Handles a message about readiness.
    func heard(_ message: NotifyMessage) {
        if message.isReloading {
            // A reload that the app announced earlier may not have read the new configuration.
            let isOurs = message.reloadBegan.map { Instant(nanoseconds: $0.nanoseconds) >= machine.begun } ?? true
            if isOurs { handle(.announced) }
        }
        if message.isReady { handle(.ready) }
    }

    /// Handles the app's request for an extension.
    func extensionRequested(by duration: Duration, _ progress: String?) {
        handle(.extensionRequested(by: duration, progress: progress))
    }

    private func cancelCommand() {
        if let lookup { launch.shell.host.work.cancel(lookup) }
        lookup = nil
        launch.shell.commands.cancelReload()
    }

    private func handle(_ event: ReloadMachine.Event) {
        // Reporting the result releases this object.
        withExtendedLifetime(self) {
            let before = machine
            let effects = machine.handle(event, at: launch.shell.now)
            for effect in effects { perform(effect) }
            timer?.arm(at: machine.nextDeadline)
            if machine != before { launch.shell.keepReload(kept) }
        }
    }

    private func perform(_ effect: ReloadMachine.Effect) {
        switch effect {
        case .run(let index): run(index)
        case .cancel: cancelCommand()
        case .inspect(let id): handle(.inspected(id: id, launch.shell.evidence.main.evidence(since: window)))
        case .paused(let pause): tell(.paused, "\(pause.words); the allowance of its reload is paused")
        case .resumed(let after): tell(.resumed, "is running again after \(after.brief), and reloads")
        case .credited(let credit):
            tell(.credited, "waited \(credit.brief) for a CPU; the allowance of its reload is extended by as much")
        case .overslept(let late):
            tell(.rebased, "watchdogd itself did not run for \(late.brief); the allowance of its reload restarts")
        case .extended(let gained): tell(.extended, "extended the allowance of its reload by \(gained.brief)")
        case .extensionCapped:
            tell(.extensionRefused, "asked for more time than its reload can be extended by; refused")
        case .finish(let outcome):
            timer?.cancel()
            finish(result(of: outcome))
        }
    }

    private func run(_ index: Int) {
        lookup = LaunchLookup.begin(
            program.reloadCommands[index], of: configuration, output: OutputPlan(program).appending,
            on: launch.shell.host
        ) { [weak self] in self?.run(index, $0) }
    }

    private func run(_ index: Int, _ request: Swift.Result<SpawnRequest, LaunchRefusal>) {
        lookup = nil
        do {
            try launch.shell.commands.reload.run(
                try request.get(),
                keep: { [unowned self] in
                    command = $0
                    launch.shell.keepReload(self.kept, isUrgent: true)
                }, onEnd: { [weak self] in self?.ended(index, $0) })
        } catch {
            ended(index, "cannot be run: \(error)", isSuccess: false)
        }
    }

    /// The environment and attributes that commands run with.
    private var configuration: LaunchConfiguration {
        var configuration = launch.shell.configuration
        configuration.environment["MAINPID"] = launch.pid.map { "\($0)" }
        configuration.environment[LaunchConfiguration.launchVariable] = configuration.launchID.description
        // The state of a resumed launch does not include the attributes.
        configuration.attributes = ProcessAttributes(program, recordsStartup: false)
        return configuration
    }

    private func ended(_ index: Int, _ result: Swift.Result<ExitStatus, any Error>) {
        switch result {
        case .success(let status): ended(index, status.words, isSuccess: status == .exited(code: 0))
        case .failure(let error): ended(index, "cannot be run: \(error)", isSuccess: false)
        }
    }

    private func ended(_ index: Int, _ words: String, isSuccess: Bool) {
        lastEnd = words
        handle(.commandEnded(isSuccess: isSuccess || program.reloadCommands[index].ignoresFailure))
    }

    private func result(of outcome: ReloadMachine.Outcome) -> Result {
        switch outcome {
        case .done(let isConfirmed): .done(launch.shell.now - machine.begun, isConfirmed: isConfirmed)
        case .commandFailed(let index): .failed("ExecReload: \(program.reloadCommands[index].program) \(lastEnd)")
        case .commandTimedOut(let index):
            .failed(
                "ExecReload: \(program.reloadCommands[index].program) did not end within \(TimeSpan.text(machine.allowance)), "
                    + "and was killed")
        case .appTimedOut:
            .failed("it did not send READY=1 within \(TimeSpan.text(machine.allowance)) after RELOADING=1")
        }
    }
}

extension OutputPlan {
    /// The plan for a further process of a running app, which must not truncate a file again.
    fileprivate var appending: OutputPlan {
        var plan = self
        if case .truncate(let path) = output { plan.output = .append(path: path) }
        if case .truncate(let path) = error { plan.error = .append(path: path) }
        return plan
    }
}
