// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Everything that one launch runs besides its program: preparations, readiness and liveness probes, reload commands.
///
/// Isolation: the loop's thread.
final class LaunchCommands {
    /// A readiness command that runs longer is killed and counts as failed, as does a search for a socket.
    private static let readinessLimit = Duration.seconds(5)

    @Shared private var launch: LaunchConfiguration
    private let host: Host
    private let cgroups: CommandCgroups
    private let emit: (LaunchEvent) -> Void
    private let command: CommandSlot
    /// Who should answer the readiness command.
    private let commandLook: CommandLook
    private let probe: CommandSlot
    /// The search for a listening socket.
    private var search: BlockingWork.Ticket?
    /// The liveness probes.
    let liveness: LivenessProber
    /// The command of the running reload.
    let reload: ReloadCommand

    init(
        _ host: Host, _ launch: Shared<LaunchConfiguration>, below cgroup: Cgroup?, _ evidence: LaunchEvidence,
        emit: @escaping (LaunchEvent) -> Void
    ) {
        _launch = launch
        self.host = host
        self.emit = emit
        cgroups = CommandCgroups(host, launch.wrappedValue.launchID)
        command = CommandSlot(host, .command, cgroups, emit: emit)
        probe = CommandSlot(host, .probe, cgroups, emit: emit)
        commandLook = CommandLook(host, at: command, evidence)
        liveness = LivenessProber(host, launch, probe, evidence, emit: emit)
        reload = ReloadCommand(host, below: cgroup, cgroups)
    }

    /// Children that only this component reaps.
    var children: [Int32] { [command.pid, probe.pid, reload.pid].compactMap(\.self) }

    /// Commands that would run forever if watchdogd were killed now.
    var kept: [KeptCommand] { [command.kept, probe.kept].compactMap(\.self) }

    func reap() {
        command.reap()
        probe.reap()
        reload.reap()
    }

    /// Runs a command before the program; see ``CommandSlot/run(_:for:onEnd:)``.
    func run(
        _ request: SpawnRequest, for limit: Duration, onEnd: @escaping (Result<ExitStatus?, any Error>) -> Void
    ) {
        command.run(request, for: limit, onEnd: onEnd)
    }

    /// Kills the command that ``run(_:for:onEnd:)`` started.
    func cancel() { command.cancel() }

    /// Kills all commands except that of a reload.
    func stop() {
        commandLook.end(isAnswered: false)
        command.cancel()
        if let search { host.work.cancel(search) }
        liveness.cancel()
        cgroups.stop()
    }

    /// Starts a readiness probe of a process; reports `probed`.
    func probeReadiness(of process: Int32?) {
        switch launch.probe {
        case .listening(let address):
            guard let process else { return emit(.machine(.probed(isReady: false))) }
            search = host.work.run(
                in: launch.launchID.hashValue, of: launch.workOwner, within: Self.readinessLimit
            ) {
                ListeningSocket.find(address, inNamespaceOf: process) != nil
            } then: { [emit] isListening in
                emit(.machine(.probed(isReady: isListening ?? false)))
            }
        case .command(let text):
            commandLook.begin(within: min(Self.readinessLimit, launch.spec.allowances.launch / 2))
            let request = SpawnRequest(shell: text, asIn: launch)
            command.run(request, for: Self.readinessLimit) { [commandLook, emit] result in
                switch result {
                case .success(let status):
                    commandLook.end(isAnswered: status == .exited(code: 0))
                    emit(.machine(.probed(isReady: status == .exited(code: 0))))
                case .failure(let error):
                    commandLook.end(isAnswered: false)
                    StandardError.mention("the readiness command cannot be run: \(error)")
                    emit(.machine(.probed(isReady: false)))
                }
            }
        case nil:
            emit(.machine(.probed(isReady: false)))
        }
    }
}

extension SpawnRequest {
    /// A command that probes an app from outside, with the app's environment, directory and credentials.
    init(shell command: String, asIn launch: LaunchConfiguration) {
        self.init(
            executable: "/bin/sh", arguments: ["/bin/sh", "-c", ByteString(command)], environment: launch.environment)
        workingDirectory = launch.workingDirectory.map { ByteString($0) }
        credentials = launch.credentials
    }
}
