// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
package import WatchdogPolicy

extension LaunchShell {
    package func prepare(
        for effects: [ProcessEffect], _ machine: ProcessMachine, _ account: AppAccount, suspendedTime: Duration
    ) {
        guard let keeper else { return }
        for case .report(let incident) in effects { incidents.addPending(incident) }
        keeper.prepare(state(machine, account, suspendedTime), at: now, spawns: effects.contains(where: \.isSpawn))
    }

    package func saveState(
        _ machine: inout ProcessMachine, _ account: AppAccount, suspendedTime: Duration, isChanged: Bool
    ) {
        guard let keeper else { return }
        if isChanged { keeper.setDirty() }
        keeper.keep(&machine, at: now, pulse: { pulse($0, account) }) { state($0, account, suspendedTime) }
        if let failure = keeper.failure {
            host.survival?.tell("the state of \(configuration.name) cannot be kept: \(failure)")
        }
    }

    /// Saves everything for the watchdogd that follows immediately.
    package func flush(_ supervisor: Supervisor) {
        commands.stop()
        guard let keeper else { return }
        let machine = supervisor.machine
        keeper.flush(
            state(machine, supervisor.account, supervisor.suspendedTime),
            pulse: pulse(machine.pulse, supervisor.account), at: now)
    }

    /// The descriptors that the next watchdogd needs.
    package var keptDescriptors: [OwnedDescriptor] { sockets.kept + (tree.main.map { [$0.process.descriptor] } ?? []) }

    func storeSockets() {
        if let keeper { host.survival?.store(sockets.kept, of: keeper) }
    }

    /// Stores the main process after it has been started, which can wait, or replaced.
    func storeProcess(canWait: Bool = false) {
        guard let keeper, let main = tree.main else { return }
        if canWait { keeper.postpone(on: host.loop) { [unowned self] in onEvent(.stateChanged(isUrgent: false)) } }
        keeper.setDirty()
        host.survival?.store([main.process.descriptor], of: keeper)
    }

    /// Whether a process has run in the cgroup, which was made for this launch alone.
    ///
    /// Tells a process that came and went between two writes of the state from one that never existed.
    package var hasRun: Bool { (cgroup?.cpuTime ?? .zero) > .zero }

    /// Whether the evidence is about the main process; the next watchdogd follows that first.
    private var judgesMain: Bool { evidence.main.pid == tree.main?.pid }
    private var mainThread: Int32? { judgesMain ? evidence.main.thread : nil }

    private func state(_ machine: ProcessMachine, _ account: AppAccount, _ suspendedTime: Duration) -> LaunchState {
        let numbers = sockets.keptNumbers
        let running = commands.kept
        return LaunchState(
            launchID: configuration.launchID,
            process: tree.saved(thread: mainThread),
            cgroup: tree.savedCgroup,
            notifyAddress: sockets.notifyAddress,
            descriptors: LaunchState.Descriptors(
                channel: numbers.channel, notify: numbers.notify, process: tree.main?.process.descriptor.number),
            suspendedTime: suspendedTime,
            program: LaunchState.Program(configuration),
            machine: machine.saved,
            account: account,
            pendingReports: incidents.pendingReports,
            pendingCrash: incidents.pendingCrash,
            reload: reload,
            commands: running.isEmpty ? nil : running
        )
    }

    private func pulse(_ machine: ProcessMachine.Pulse?, _ account: AppAccount) -> LaunchPulse {
        var pulse = LaunchPulse()
        pulse.machine = machine
        pulse.window = judgesMain ? evidence.main.savedWindow : nil
        pulse.pingsSent = account.pingsSent
        pulse.signsOfLife = account.signsOfLife
        pulse.lastSignOfLife = account.lastSignOfLife
        pulse.thread = mainThread
        return pulse
    }
}

extension ProcessEffect {
    var isSpawn: Bool { if case .spawn = self { true } else { false } }

    /// Whether it cannot be undone, or cannot be repeated without the app noticing.
    var isIrrevocable: Bool {
        switch self {
        case .spawn, .terminate, .capture, .terminateTree, .killTree, .report, .finish: true
        // After an unsaved freeze, the next watchdogd would not know who stopped the app, and would leave it stopped.
        case .lifecycle(let effect): effect != .measure
        case .beginWindow, .observe, .endObservation, .sendPing, .probe, .probeLiveness, .cancelLivenessProbe, .inspect,
            .announce:
            false
        }
    }
}
