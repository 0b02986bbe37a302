// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogConfiguration
package import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Everything that one launch runs besides its program: preparations, readiness and liveness probes, reload commands.
///
/// Isolation: the loop's thread.
package final class LaunchCommands {
    /// A readiness command that runs longer is killed and counts as failed, as does a search for a socket.
    private static let readinessLimit = Duration.seconds(5)

    /// What runs the commands.
    private struct Slots {
        let command: CommandSlot
        /// Who should answer the readiness command.
        let commandLook: CommandLook
        let probe: CommandSlot
        let liveness: LivenessProber
        let reload: ReloadCommand
    }

    @Shared private var launch: LaunchConfiguration
    private let host: Host
    private let cgroup: Cgroup?
    private let evidence: LaunchEvidence
    private let emit: (LaunchEvent) -> Void
    /// Created for the first command: most apps have none.
    @Boxed private var used: Slots?
    private lazy var cgroups = CommandCgroups(host, launch.launchID)
    /// The search for a listening socket.
    private var search: BlockingWork.Ticket?

    init(
        _ host: Host, _ launch: Shared<LaunchConfiguration>, below cgroup: Cgroup?, _ evidence: LaunchEvidence,
        emit: @escaping (LaunchEvent) -> Void
    ) {
        _launch = launch
        self.host = host
        self.cgroup = cgroup
        self.evidence = evidence
        self.emit = emit
    }

    private var slots: Slots {
        if let used { return used }
        let command = CommandSlot(host, .command, cgroups, emit: emit)
        let probe = CommandSlot(host, .probe, cgroups, emit: emit)
        let new = Slots(
            command: command, commandLook: CommandLook(host, at: command, evidence), probe: probe,
            liveness: LivenessProber(host, $launch, probe, evidence, emit: emit),
            reload: ReloadCommand(host, below: cgroup, cgroups))
        used = new
        return new
    }

    /// The command of the running reload.
    package var reload: ReloadCommand { slots.reload }

    /// Children that only this component reaps.
    var children: [Int32] {
        guard let used else { return [] }
        return [used.command.pid, used.probe.pid, used.reload.pid].compactMap(\.self)
    }

    /// Commands that would run forever if watchdogd were killed now.
    package var kept: [KeptCommand] {
        guard let used else { return [] }
        return [used.command.kept, used.probe.kept].compactMap(\.self)
    }

    func reap() {
        guard let used else { return }
        used.command.reap()
        used.probe.reap()
        used.reload.reap()
    }

    /// Runs a command before the program; see ``CommandSlot/run(_:for:onEnd:)``.
    package func run(
        _ request: SpawnRequest, for limit: Duration, onEnd: @escaping (Result<ExitStatus?, any Error>) -> Void
    ) {
        slots.command.run(request, for: limit, onEnd: onEnd)
    }

    /// Kills the command that ``run(_:for:onEnd:)`` started.
    package func cancel() { used?.command.cancel() }

    /// Probes whether the app is alive.
    func probeLiveness(id: Int) { slots.liveness.probe(id: id) }

    func cancelLivenessProbe() { used?.liveness.cancel() }

    /// Kills all commands except that of a reload.
    package func stop() {
        if let search { host.work.cancel(search) }
        guard let used else { return }
        used.commandLook.end(isAnswered: false)
        used.command.cancel()
        used.liveness.stop()
        cgroups.stop()
    }

    /// Kills the command of a reload.
    package func cancelReload() { used?.reload.cancel() }

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
            let slots = slots
            let look = slots.commandLook
            look.begin(within: min(Self.readinessLimit, launch.spec.allowances.launch / 2))
            let request = SpawnRequest(shell: text, asIn: launch)
            slots.command.run(request, for: Self.readinessLimit) { [look, emit] result in
                switch result {
                case .success(let status):
                    look.end(isAnswered: status == .exited(code: 0))
                    emit(.machine(.probed(isReady: status == .exited(code: 0))))
                case .failure(let error):
                    look.end(isAnswered: false)
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
    package init(shell command: String, asIn launch: LaunchConfiguration) {
        self.init(
            executable: "/bin/sh", arguments: ["/bin/sh", "-c", ByteString(command)], environment: launch.environment)
        workingDirectory = launch.workingDirectory.map { ByteString($0) }
        credentials = launch.credentials
    }
}
