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
    private let configuration: LaunchConfiguration
    private let commands: [Command]
    private let begun: Instant
    private var machine: ReloadMachine
    private var timer: Timer?
    /// How the latest command ended, as in "/bin/kill *exited with code 1*".
    private var lastEnd = ""
    private let tell: (ControlEvent.Kind, String) -> Void
    private let finish: (Result) -> Void

    /// - Parameters:
    ///   - launch: of an app that runs.
    ///   - program: what is configured of it.
    ///   - allowance: how long all of it may take.
    ///   - tell: called with what becomes of the app's extensions.
    ///   - finish: called once, but not after ``cancel()``.
    init(
        of launch: AppLaunch, _ program: ProgramSettings, within allowance: Duration,
        tell: @escaping (ControlEvent.Kind, String) -> Void, finish: @escaping (Result) -> Void
    ) throws {
        self.launch = launch
        self.tell = tell
        self.finish = finish
        commands = program.reloadCommands
        var configuration = launch.kernel.configuration
        configuration.environment["MAINPID"] = launch.pid.map { "\($0)" }
        configuration.environment[LinuxKernel.launchVariable] = configuration.launchID.description
        // Those of an app that was taken over are not kept with its state.
        configuration.attributes = ProcessAttributes(program)
        configuration.streams = try StandardStreams(
            opening: OutputPlan(program).goingOn, identifier: configuration.name)
        self.configuration = configuration
        begun = launch.kernel.now
        let app = launch.supervisor.machine
        machine = ReloadMachine(
            commandCount: commands.count, allowance: allowance, fairness: app.spec.fairness,
            lastProgress: app.lastProgress, mayAnnounce: launch.readiness == .notify, at: begun)
        timer = try launch.kernel.loop.timer(priority: .idle) { [unowned self] _ in handle(.deadlineReached) }
    }

    func begin() { handle(.begun) }

    /// Ends the command that runs, without a result.
    func cancel() {
        timer?.cancel()
        launch.kernel.cancelReload()
    }

    /// The app said something of its readiness.
    func heard(_ message: NotifyMessage) {
        if message.isReloading {
            // Of one that was under way before, nothing is known of what it read.
            let isOurs = message.reloadBegan.map { Instant(nanoseconds: $0.nanoseconds) >= begun } ?? true
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
            for effect in machine.handle(event, at: launch.kernel.now) { perform(effect) }
            timer?.arm(at: machine.nextDeadline)
        }
    }

    private func perform(_ effect: ReloadMachine.Effect) {
        switch effect {
        case .run(let index): run(commands[index])
        case .cancel: launch.kernel.cancelReload()
        case .extended(let gained): tell(.extended, "extended the allowance of its reload by \(gained.brief)")
        case .extensionCapped:
            tell(.extensionRefused, "asked for more time than its reload can be extended by; refused")
        case .finish(let outcome):
            timer?.cancel()
            finish(result(of: outcome))
        }
    }

    private func run(_ command: Command) {
        do {
            let request = try configuration.request(for: command)
            try launch.kernel.runReload(request) { [weak self] status in
                self?.ended(command, status.words, isSuccess: status == .exited(code: 0))
            }
        } catch {
            ended(command, "cannot be run: \(error)", isSuccess: false)
        }
    }

    private func ended(_ command: Command, _ words: String, isSuccess: Bool) {
        lastEnd = words
        handle(.commandEnded(isSuccess: isSuccess || command.ignoresFailure))
    }

    private func result(of outcome: ReloadMachine.Outcome) -> Result {
        switch outcome {
        case .done(let isConfirmed): .done(launch.kernel.now - begun, isConfirmed: isConfirmed)
        case .commandFailed(let index): .failed("ExecReload: \(commands[index].program) \(lastEnd)")
        case .commandTimedOut(let index):
            .failed(
                "ExecReload: \(commands[index].program) did not end within \(machine.allowance.brief), and was killed")
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
    func runReload(_ request: SpawnRequest, onEnd: @escaping (ExitStatus) -> Void) throws {
        var request = request
        if let scheduling = host.scheduling { request.withdraw(scheduling) }
        spentCgroups.removeAll { (try? $0.remove()) != nil }
        let cgroup = try? cgroup?.child("reload")
        if let cgroup { spentCgroups.append(cgroup) }
        probeProcess = try ProbeProcess(request, in: cgroup, on: loop, limit: nil) { [unowned self] status in
            probeProcess = nil
            onEnd(status)
        }
    }

    func cancelReload() {
        probeProcess?.cancel()
        probeProcess = nil
    }
}
