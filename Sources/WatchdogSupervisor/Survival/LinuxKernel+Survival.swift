// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension LinuxKernel {
    func prepare(for effects: [AppEffect]) {
        guard let keeper else { return }
        for case .report(let incident) in effects {
            owed[incident.id] = .init(incident: incident, report: facts[incident.id]?.id ?? .random())
        }
        guard let machine = supervisor?.machine, let state = state(machine) else { return }
        keeper.prepare(state, at: now)
    }

    func settle(_ machine: inout AppMachine) {
        guard let keeper else { return }
        keeper.keep(&machine, at: now, pulse: pulse, state)
        if let failure = keeper.failure {
            host.survival?.tell("the state of \(configuration.name) cannot be kept: \(failure)")
        }
    }

    /// Writes everything, for the watchdogd that follows at once.
    func flush() {
        stopCommands()
        guard let keeper, let machine = supervisor?.machine, let state = state(machine) else { return }
        keeper.flush(state, pulse: pulse(machine.pulse), at: now)
    }

    /// The report of an incident is written, or never will be.
    func settleReport(of incident: Int) {
        guard owed.removeValue(forKey: incident) != nil else { return }
        keeper?.setDirty()
        supervisor?.settle()
    }

    /// Before the end is accounted for, and when nothing is owed any more.
    func settleCrash(_ report: IncidentID?) {
        owedCrash = report
        keeper?.setDirty()
        supervisor?.settle()
    }

    /// The descriptors without which the next watchdogd would know less.
    var keptDescriptors: [OwnedDescriptor] {
        keptSockets + (main.map { [$0.process.descriptor] } ?? [])
    }

    private var keptSockets: [OwnedDescriptor] {
        [notifySocket.descriptor] + (channelSource == nil ? [] : [channel.descriptor])
    }

    func storeSockets() {
        guard let keeper else { return }
        host.survival?.store(keptSockets, of: keeper)
    }

    /// The main process is there, or another has taken its place.
    func storeProcess() {
        guard let keeper, let main else { return }
        keeper.setDirty()
        host.survival?.store([main.process.descriptor], of: keeper)
    }

    /// What was seen of an incident by the watchdogd before this one.
    func rememberedEvidence(of incident: Incident) -> HangEvidence {
        var result = HangEvidence(processorCount: host.facts.processorCount)
        guard let evidence = incident.evidence else { return result }
        result.window = incident.decidedAt - incident.windowStart
        result.runTime = evidence.runTime
        result.runDelay = evidence.runDelay
        result.state = evidence.state
        result.tracer = Int(evidence.tracer ?? 0)
        result.isFrozen = evidence.isFrozen
        return result
    }

    // MARK: - What is kept

    private func state(_ machine: AppMachine) -> LaunchState? {
        guard let supervisor else { return nil }
        var path: String?
        if case .cgroup(let cgroup) = containment { path = cgroup.path }
        // Before the process is there, it is not known whether the kernel takes it into the cgroup.
        if containment == nil { path = cgroup?.path }
        return LaunchState(
            launchID: configuration.launchID,
            process: main.map { main in
                LaunchState.Process(
                    pid: main.process.pid, startTime: main.startTime, launchedAt: main.launchedAt,
                    launchTime: main.launchTime, thread: main.probe?.thread)
            },
            cgroup: path,
            notifyAddress: notifySocket.address,
            descriptors: LaunchState.Descriptors(
                channel: channelSource == nil ? nil : channel.descriptor.number,
                notify: notifySocket.descriptor.number,
                process: main?.process.descriptor.number),
            suspendedTime: supervisor.suspendedTime,
            program: LaunchState.Program(configuration),
            machine: machine,
            account: supervisor.account,
            owed: owed.values.sorted { $0.incident.id < $1.incident.id },
            owedCrash: owedCrash,
            reload: reload?.kept,
            commands: runningCommands.isEmpty ? nil : runningCommands
        )
    }

    private func pulse(_ machine: AppMachine.Pulse?) -> LaunchPulse {
        var pulse = LaunchPulse()
        guard let supervisor else { return pulse }
        pulse.machine = machine
        pulse.window = window.map {
            LaunchPulse.Window(
                at: $0.start.at, processCPUTime: $0.start.processCPUTime, schedule: $0.start.schedule)
        }
        pulse.pingsSent = supervisor.account.pingsSent
        pulse.signsOfLife = supervisor.account.signsOfLife
        pulse.lastSignOfLife = supervisor.account.lastSignOfLife
        pulse.thread = main?.probe?.thread
        return pulse
    }
}

extension AppEffect {
    /// Whether it cannot be taken back, or asked for again without the app noticing.
    var isIrrevocable: Bool {
        switch self {
        case .spawn, .terminate, .capture, .killTree, .report, .finish: true
        // An app that is stopped, and nobody knows by whom, would stay so.
        case .lifecycle(let effect): effect != .measure
        case .beginWindow, .observe, .endObservation, .sendPing, .probe, .probeLiveness, .cancelLivenessProbe, .inspect,
            .announce:
            false
        }
    }
}
