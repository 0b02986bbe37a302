// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

extension SimulatedDaemon {
    /// Sends an event to the machine of a launch's process, after the events already queued.
    func tell(_ launch: LaunchID, _ event: ProcessEvent) {
        guard isAlive(), let isHandling = launches[launch]?.isHandling else { return }
        launches[launch]?.queue.append(event)
        guard !isHandling else { return }
        launches[launch]?.isHandling = true
        while let queue = launches[launch]?.queue, !queue.isEmpty {
            if let event = launches[launch]?.queue.removeFirst() { handle(event, launch) }
        }
        launches[launch]?.isHandling = false
        guard isAlive(), let state = launches[launch] else { return }
        files[launch]?.machine = state.machine
        files[launch]?.isSettled = true
    }

    private func handle(_ event: ProcessEvent, _ launch: LaunchID) {
        guard isAlive(), let effects = launches[launch]?.machine.handle(event, at: now) else { return }
        events += 1
        note("\(launch) \(event) → \(effects.map(\.summary))")
        if effects.contains(where: \.cannotBeUndone) { prepare(effects, launch) }
        for effect in effects { perform(effect, launch) }
    }

    /// Writes the state to disk before an irrevocable effect.
    private func prepare(_ effects: [ProcessEffect], _ launch: LaunchID) {
        guard let state = launches[launch] else { return }
        let app = state.brain.app
        if files[launch] == nil, !state.brain.isForgotten { apps[app].savedPromise = apps[app].promise }
        var file = files[launch] ?? SimulatedFile(app: app, order: spawns, machine: state.machine)
        (file.machine, file.isSettled) = (state.machine, false)
        for case .report(let incident) in effects { file.pending.insert(incident.id) }
        files[launch] = file
    }

    private func perform(_ effect: ProcessEffect, _ launch: LaunchID) {
        guard isAlive(), let brain = launches[launch]?.brain else { return }
        switch effect {
        case .spawn: spawn(launch, brain)
        case .sendPing(let nonce):
            guard processes[launch]?.isHanging == false else { return }
            after(.milliseconds(1), survives: true) { [unowned self] in tell(launch, .ponged(nonce: nonce)) }
        case .inspect(let id):
            after(.zero) { [unowned self] in tell(launch, .inspected(id: id, Evidence(state: "S"))) }
        case .terminate:
            guard processes[launch]?.isDeaf == false else { return }
            after(.milliseconds(20), survives: true) { [unowned self] in exit(launch) }
        case .capture(let incident):
            if incident.isEnforced { kill(launch) }
            after(.milliseconds(1)) { [unowned self] in tell(launch, .captured) }
        case .terminateTree:
            after(.milliseconds(Int64(generator.below(6_000)))) { [unowned self] in
                if processes[launch] == nil { tell(launch, .treeEmptied) }
            }
        case .killTree:
            kill(launch)
            after(.milliseconds(2)) { [unowned self] in
                if processes[launch] == nil { tell(launch, .treeEmptied) }
            }
        case .report(let incident): write(incident.id, of: launch)
        case .announce(.transgressed(let incident)):
            check(now >= incident.deadline, "\(launch): an incident before its deadline")
            incidents[launch, default: []].insert(incident.id)
            kills += 1
        case .announce(.launched):
            tell(brain, .launched(launch, mayBeSilent: apps[brain.app].spec.readiness == .automatic))
        case .announce(.ready): tell(brain, .ready(launch))
        case .finish(let outcome): after(.zero) { [unowned self] in ended(launch, outcome) }
        default: break
        }
    }

    func write(_ incident: Int, of launch: LaunchID) {
        let isNew = launches[launch]?.pendingReports.insert(incident).inserted
        check(isNew == true, "\(launch): incident \(incident) has two reports")
        after(.milliseconds(Int64(1 + generator.below(30)))) { [unowned self] in
            guard isAlive() else { return }
            reports[launch, default: []].insert(incident)
            files[launch]?.pending.remove(incident)
            launches[launch]?.pendingReports.remove(incident)
            if let state = launches[launch], state.pendingReports.isEmpty { tell(state.brain, .reported(launch)) }
        }
    }

    // MARK: - Processes

    private func spawn(_ launch: LaunchID, _ brain: SimulatedBrain) {
        check(processes.values.allSatisfy { $0.app != brain.app }, "\(launch): a second process")
        check(!apps[brain.app].promise.staysDown, "\(launch) was stopped, and is started")
        check(haveRun.insert(launch).inserted, "\(launch) is started twice")
        guard !generator.oneIn(30) else {
            haveRun.remove(launch)
            return tell(launch, .spawnFailed)
        }
        processes[launch] = SimulatedProcess(
            app: brain.app, isDeaf: generator.oneIn(4), isUnkillable: generator.oneIn(60))
        tell(launch, .spawned(pid: 7))
        guard !generator.oneIn(8) else { return }
        happen(.milliseconds(1)) { [unowned self] in tell(launch, .hello) }
        if !generator.oneIn(8) { happen(.milliseconds(50)) { [unowned self] in tell(launch, .ready(.channel)) } }
        if generator.oneIn(3) {
            happen(.milliseconds(Int64(generator.below(90_000)))) { [unowned self] in
                processes[launch]?.isHanging = true
            }
        }
        if generator.oneIn(2) {
            happen(.milliseconds(Int64(generator.below(90_000)))) { [unowned self] in exit(launch) }
        }
    }

    private func happen(_ delay: Duration, _ action: @escaping () -> Void) {
        after(delay, survives: true, action)
    }

    private func exit(_ launch: LaunchID) {
        // An unkillable process waits for a device, and does not exit by itself either.
        guard processes[launch]?.isUnkillable == false else { return }
        processes[launch] = nil
        tell(launch, .exited(generator.oneIn(2) ? .exited(code: 0) : .signaled(signal: 11, coreDumped: false)))
    }

    private func kill(_ launch: LaunchID) {
        guard let process = processes[launch] else { return }
        guard !process.isUnkillable else {
            // Its device answers eventually.
            return after(.milliseconds(Int64(generator.below(20_000))), survives: true) { [unowned self] in
                processes[launch] = nil
            }
        }
        processes[launch] = nil
        happen(.milliseconds(1)) { [unowned self] in
            tell(launch, .exited(.signaled(signal: 9, coreDumped: false)))
        }
    }
}

extension ProcessEffect {
    /// Whether the supervisor must save the state first.
    fileprivate var cannotBeUndone: Bool {
        switch self {
        case .spawn, .terminate, .capture, .terminateTree, .killTree, .report, .finish: true
        default: false
        }
    }
}
