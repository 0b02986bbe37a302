// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

extension SimulatedDaemon {
    /// Sends an event to an app's machine, after the events already queued.
    func tell(_ brain: SimulatedBrain, _ event: AppEvent) {
        guard isAlive() else { return }
        guard !brain.isHandling else { return brain.queue.append(event) }
        brain.isHandling = true
        answer(brain, event)
        while !brain.queue.isEmpty { answer(brain, brain.queue.removeFirst()) }
        brain.isHandling = false
    }

    /// Immediately sends the result of an effect to the machine.
    private func answer(_ brain: SimulatedBrain, _ event: AppEvent) {
        guard isAlive() else { return }
        events += 1
        let former = brain.machine.current
        let effects = brain.machine.handle(event, at: now)
        if event == .begun { brain.isBegun = true }
        watch(brain, event, former, effects)
        note("\(name(brain)) \(event) → \(effects) \(brain.machine.phase)")
        for effect in effects { perform(effect, event, brain) }
    }

    private func perform(_ effect: AppEffect, _ event: AppEvent, _ brain: SimulatedBrain) {
        guard isAlive() else { return }
        switch effect {
        case .create: create(event, brain)
        case .cancelCreation: brain.creation += 1
        case .prepare(let launch):
            after(.milliseconds(5)) { [unowned self] in
                let isFailed = generator.oneIn(5)
                tell(brain, isFailed ? .preparationFailed(launch, reason: "it failed") : .prepared(launch))
            }
        case .cancelPreparation(let launch): check(!haveRun.contains(launch), "\(launch) was past its preparations")
        case .start(let launch): tell(launch, .launchRequested)
        case .resume(let launch): resume(launch, brain)
        case .adopt(let launch):
            launches[launch] = SimulatedLaunch(
                brain: brain, machine: ProcessMachine(spec: apps[brain.app].spec, nonceSeed: generator.next()))
            tell(launch, .adopted(pid: 7))
        case .terminate(let launch): tell(launch, .terminateRequested)
        case .killRemains(let launch): check(processes[launch] == nil, "\(launch) is killed unseen")
        case .inspect(let launch):
            let machine = launches[launch]?.machine
            answer(
                brain,
                .inspected(
                    launch, isSilent: machine?.phase == .launching && machine?.hasSpoken == false,
                    isGone: processes[launch] == nil))
        case .release(let launch):
            check(launches.removeValue(forKey: launch) != nil, "\(launch) is released twice")
            after(.zero) { [unowned self] in
                guard isAlive() else { return }
                files[launch] = nil
                tell(brain, .released(launch))
            }
        case .save: save(brain)
        case .saveSoon: after(.zero) { [unowned self] in if isAlive() { save(brain) } }
        case .forget: forget(brain)
        case .answer(let waiter, let answer):
            check(waiters.remove(waiter) != nil, "\(name(brain)): an answer that nobody waits for: \(answer)")
        case .publish: break
        }
    }

    private func create(_ event: AppEvent, _ brain: SimulatedBrain) {
        begin(event, brain)
        brain.creation += 1
        let number = brain.creation
        after(.milliseconds(Int64(generator.below(3) * generator.below(200)))) { [unowned self] in
            guard isAlive(), brain.creation == number else { return }
            guard !generator.oneIn(25) else { return tell(brain, .creationFailed(reason: "no room")) }
            spawns += 1
            let launch = LaunchID("\(name(brain))-\(spawns)")
            launches[launch] = SimulatedLaunch(
                brain: brain, machine: ProcessMachine(spec: apps[brain.app].spec, nonceSeed: generator.next()))
            tell(brain, .created(launch, hasPreparations: apps[brain.app].hasPreparations))
        }
    }

    private func resume(_ launch: LaunchID, _ brain: SimulatedBrain) {
        guard let file = files[launch], let machine = ProcessMachine(resuming: file.machine.saved) else {
            return check(false, "\(launch) cannot be resumed")
        }
        launches[launch] = SimulatedLaunch(brain: brain, machine: machine)
        func answerPresent() {
            guard let machine = launches[launch]?.machine else { return }
            answer(brain, .resumed(launch, .present(launchedAt: machine.launchedAt, isEnding: machine.isEnding)))
        }
        if case .ended(let outcome) = machine.phase {
            for incident in file.pending.sorted() { write(incident, of: launch) }
            answerPresent()
            if brain.machine.phase == .live(launch) {
                after(.zero) { [unowned self] in ended(launch, outcome) }
            } else if launches[launch]?.pendingReports.isEmpty == true {
                tell(brain, .reported(launch))
            }
        } else if machine.launchedAt != nil {
            if processes[launch] == nil { tell(launch, .exited(.unknown)) }
            tell(launch, .supervisorReturned(isLastStepDone: file.isSettled))
            answerPresent()
        } else if processes[launch] != nil {
            tell(launch, .spawned(pid: 7))
            answerPresent()
        } else {
            answer(brain, .resumed(launch, .absent(launchedAt: nil, hasRun: haveRun.contains(launch))))
        }
    }

    func ended(_ launch: LaunchID, _ outcome: Outcome) {
        guard isAlive(), let state = launches[launch] else { return }
        check(!outcome.isDeathVerified || processes[launch] == nil, "\(launch): a false statement about its death")
        tell(
            state.brain,
            .ended(
                launch,
                .init(outcome, hasPendingReports: !state.pendingReports.isEmpty, reason: "\(outcome.cause)")))
    }

    private func save(_ brain: SimulatedBrain) {
        guard !brain.isForgotten else { return }
        let app = apps[brain.app]
        check(
            brain.machine.restartCount == app.promise.restarts,
            "\(name(brain)): \(brain.machine.restartCount) restarts are counted, \(app.promise.restarts) were made")
        apps[brain.app].saved = brain.machine.saved
        apps[brain.app].savedPromise = brain.machine.saved == nil ? .init() : app.promise
    }

    private func forget(_ brain: SimulatedBrain) {
        brain.isForgotten = true
        check(!brain.isConfigured, "\(name(brain)) has a file, and is forgotten")
        apps[brain.app].brain = nil
        apps[brain.app].saved = nil
        (apps[brain.app].promise, apps[brain.app].savedPromise) = (.init(), .init())
        departing.append(brain)
    }

    // MARK: - Promises

    /// Checks that a new launch is allowed.
    private func begin(_ event: AppEvent, _ brain: SimulatedBrain) {
        var promise = apps[brain.app].promise
        check(!promise.staysDown, "\(name(brain)) was stopped, and is launched by \(event)")
        check(!isShuttingDown, "\(name(brain)) is launched while watchdogd ends")
        check(processes.values.allSatisfy { $0.app != brain.app }, "\(name(brain)) runs already")
        if promise.isRestartDue {
            promise.restarts += 1
            promise.instants.append(now)
            let settings = apps[brain.app].settings
            if settings.consequence == .stop, case .count(let limit) = settings.limit, event == .deadlineReached {
                let recent = promise.instants.count { now - $0 < settings.limitInterval }
                check(recent <= limit, "\(name(brain)): \(recent) restarts with a limit of \(limit)")
            }
        }
        (promise.isRestartDue, promise.isRelaunchWished) = (false, false)
        apps[brain.app].promise = promise
    }

    /// Updates the promises after an event.
    private func watch(_ brain: SimulatedBrain, _ event: AppEvent, _ former: LaunchID?, _ effects: [AppEffect]) {
        guard !brain.isForgotten else { return }
        var promise = apps[brain.app].promise
        let phase = brain.machine.phase
        if let former, brain.machine.current == nil, !effects.contains(.forget) {
            switch (phase, event) {
            // Nothing has exited, because the process was never started.
            case (.unkillable, _), (_, .resumed(_, .absent(_, hasRun: false))): break
            default: check(promise.settled.insert(former).inserted, "\(former) ends twice")
            }
        }
        var isDecided = false
        for effect in effects {
            switch effect {
            case .publish(.decided(.restart, _, _)), .publish(.decided(.limitReached(_, next: .some), _, _)):
                check(!promise.staysDown, "\(name(brain)) was stopped, and is restarted")
                promise.isRestartDue = true
                isDecided = true
            default: break
            }
        }
        // A requested restart starts over.
        if case .waiting = phase, promise.isRelaunchWished, !isDecided {
            (promise.isRestartDue, promise.instants) = (false, [])
        }
        let isDown = (phase == .stopped || phase == .failed) && !effects.contains(.create)
        let isExpected = promise.isRelaunchWished && brain.isBegun && brain.isConfigured
        check(!isDown || !isExpected, "\(name(brain)) was not restarted by \(event)")
        apps[brain.app].promise = promise
    }
}
