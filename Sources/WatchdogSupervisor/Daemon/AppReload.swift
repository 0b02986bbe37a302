// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// One run of the commands that make an app read its own configuration again: `ExecReload=`.
///
/// Isolation: the loop's thread.
final class AppReload {
    /// How it ended.
    enum Result {
        /// It took so long; whether the app itself has said so.
        case done(Duration, isConfirmed: Bool)
        /// One sentence without a final stop.
        case failed(String)
    }

    private let launch: AppLaunch
    private let program: ProgramSettings
    private var machine: ReloadMachine
    /// The command that runs, or is about to.
    private var command: KeptCommand?
    private var timer: Timer?
    /// How the latest command ended, as in "/bin/kill *exited with code 1*".
    private var lastEnd = ""
    private let tell: (ControlEvent.Kind, String) -> Void
    private let finish: (Result) -> Void

    /// - Parameters:
    ///   - launch: of an app that runs.
    ///   - program: what is configured of it.
    ///   - machine: a reload that has not begun, or that of the watchdogd before this one.
    ///   - tell: called with what becomes of the app's extensions.
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
        timer = try launch.kernel.loop.timer(priority: .idle) { [unowned self] _ in handle(.deadlineReached) }
        launch.kernel.reload = self
    }

    /// What the next watchdogd is to know of it; nil when it is over.
    var kept: KeptReload? {
        guard machine.nextDeadline != nil else { return nil }
        return KeptReload(machine: machine, commands: program.reloadCommands, command: command)
    }

    func begin() { handle(.begun) }

    /// Goes on where the watchdogd before this one was.
    ///
    /// - Parameter kept: the command that ran then.
    /// - Returns: false when that is gone, and nobody knows how it has ended.
    func goOn(with kept: KeptCommand?) -> Bool {
        timer?.arm(at: machine.nextDeadline)
        guard let index = machine.running else { return true }
        command = kept
        return launch.kernel.resumeReload(kept) { [weak self] in self?.ended(index, $0) }
    }

    /// The command that ran has ended, and nobody knows how.
    func lost() {
        if let index = machine.running { ended(index, .unknown) }
    }

    /// Ends the command that runs, without a result.
    func cancel() {
        timer?.cancel()
        launch.kernel.cancelReload()
        launch.kernel.reload = nil
        launch.kernel.settleReload()
    }

    /// The app said something of its readiness.
    func heard(_ message: NotifyMessage) {
        if message.isReloading {
            // Of one that was under way before, nothing is known of what it read.
            let isOurs = message.reloadBegan.map { Instant(nanoseconds: $0.nanoseconds) >= machine.begun } ?? true
            if isOurs { handle(.announced) }
        }
        if message.isReady { handle(.ready) }
    }

    /// The app asked for more time.
    func extensionRequested(by duration: Duration, _ progress: String?) {
        handle(.extensionRequested(by: duration, progress: progress))
    }

    private func handle(_ event: ReloadMachine.Event) {
        // A result lets go of it.
        withExtendedLifetime(self) {
            let before = machine
            let effects = machine.handle(event, at: launch.kernel.now)
            for effect in effects { perform(effect) }
            timer?.arm(at: machine.nextDeadline)
            if machine != before { launch.kernel.settleReload() }
        }
    }

    private func perform(_ effect: ReloadMachine.Effect) {
        switch effect {
        case .run(let index): run(index)
        case .cancel: launch.kernel.cancelReload()
        case .extended(let gained): tell(.extended, "extended the allowance of its reload by \(gained.brief)")
        case .extensionCapped:
            tell(.extensionRefused, "asked for more time than its reload can be extended by; refused")
        case .finish(let outcome):
            timer?.cancel()
            finish(result(of: outcome))
        }
    }

    private func run(_ index: Int) {
        do {
            let configuration = try configuration()
            // It holds the files that the command is to write to.
            try withExtendedLifetime(configuration) {
                try launch.kernel.runReload(
                    configuration.request(for: program.reloadCommands[index]),
                    keep: { [unowned self] in command = $0 }, onEnd: { [weak self] in self?.ended(index, $0) })
            }
        } catch {
            ended(index, "cannot be run: \(error)", isSuccess: false)
        }
    }

    /// What a command is run as.
    private func configuration() throws -> LaunchConfiguration {
        var configuration = launch.kernel.configuration
        configuration.environment["MAINPID"] = launch.pid.map { "\($0)" }
        configuration.environment[LinuxKernel.launchVariable] = configuration.launchID.description
        // Those of an app that was taken over are not kept with its state.
        configuration.attributes = ProcessAttributes(program)
        configuration.streams = try StandardStreams(
            opening: OutputPlan(program).goingOn, identifier: configuration.name)
        return configuration
    }

    private func ended(_ index: Int, _ status: ExitStatus) {
        ended(index, status.words, isSuccess: status == .exited(code: 0))
    }

    private func ended(_ index: Int, _ words: String, isSuccess: Bool) {
        lastEnd = words
        handle(.commandEnded(isSuccess: isSuccess || program.reloadCommands[index].ignoresFailure))
    }

    private func result(of outcome: ReloadMachine.Outcome) -> Result {
        switch outcome {
        case .done(let isConfirmed): .done(launch.kernel.now - machine.begun, isConfirmed: isConfirmed)
        case .commandFailed(let index): .failed("ExecReload: \(program.reloadCommands[index].program) \(lastEnd)")
        case .commandTimedOut(let index):
            .failed(
                "ExecReload: \(program.reloadCommands[index].program) did not end within \(machine.allowance.brief), "
                    + "and was killed")
        case .appTimedOut: .failed("it did not say READY=1 within \(machine.allowance.brief) after RELOADING=1")
        }
    }
}

extension OutputPlan {
    /// For a further process of an app that runs: a file that was emptied for it is not emptied again.
    fileprivate var goingOn: OutputPlan {
        var plan = self
        if case .truncate(let path) = output { plan.output = .append(path: path) }
        if case .truncate(let path) = error { plan.error = .append(path: path) }
        return plan
    }
}

extension LinuxKernel {
    /// Runs a command of an app that runs, in a cgroup below the app's: it can be killed by itself, and dies with the app.
    ///
    /// - Parameters:
    ///   - keep: gets by what the next watchdogd finds it, before and after it is started; that is saved then.
    ///   - onEnd: called when it has ended, but not after ``cancelReload()``.
    func runReload(
        _ request: SpawnRequest, keep: (KeptCommand) -> Void, onEnd: @escaping (ExitStatus) -> Void
    ) throws {
        var request = request
        if let scheduling = host.scheduling { request.withdraw(scheduling) }
        removeSpentCgroups()
        let cgroup = try? cgroup?.child("reload")
        if let cgroup { spentCgroups.append(cgroup) }
        // Should watchdogd be killed while it starts the command, the next one finds it in the cgroup.
        keep(KeptCommand(cgroup: cgroup?.path))
        prepare(for: [])
        let process = try ProbeProcess(request, in: cgroup, on: loop, limit: nil) { [unowned self] status in
            reloadProcess = nil
            onEnd(status)
        }
        reloadProcess = process
        keep(process.kept)
        prepare(for: [])
    }

    /// Waits for a command of the watchdogd before this one; returns false when it is gone.
    func resumeReload(_ kept: KeptCommand?, onEnd: @escaping (ExitStatus) -> Void) -> Bool {
        guard let kept else { return false }
        guard let process = kept.find() else {
            kept.end()
            return false
        }
        if let cgroup = kept.cgroup.flatMap({ try? Cgroup(opening: $0) }) { spentCgroups.append(cgroup) }
        reloadProcess = try? ProbeProcess(process, kept, on: loop) { [unowned self] status in
            reloadProcess = nil
            onEnd(status)
        }
        if reloadProcess == nil { kept.end() }
        return reloadProcess != nil
    }

    func cancelReload() {
        reloadProcess?.cancel()
        reloadProcess = nil
    }

    /// Something has changed about a reload.
    func settleReload() {
        keeper?.setDirty()
        supervisor?.settle()
    }
}
