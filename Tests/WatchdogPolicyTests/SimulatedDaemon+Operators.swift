// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

extension SimulatedDaemon {
    /// A random action of an operator.
    func interfere() {
        let index = generator.below(apps.count)
        guard let brain = apps[index].brain else { return reappear(index) }
        let phase = brain.machine.phase
        switch generator.below(6) {
        case 0 where brain.isConfigured: terminate(brain, phase)
        case 1 where brain.isConfigured: restart(brain, phase)
        case 2 where brain.isConfigured: launch(brain, phase)
        case 3: configure(brain, phase)
        case 4 where brain.isConfigured && generator.oneIn(6):
            apps[index].standing = .removed
            // An app whose file returns is to run again.
            (apps[index].promise.staysDown, apps[index].promise.isRelaunchWished) = (false, true)
            tell(brain, .unconfigured)
        default: break
        }
    }

    private func waiter() -> AppWaiter {
        let waiter = AppWaiter(id: events * 2 + waiters.count, waits: generator.oneIn(2))
        waiters.insert(waiter.id)
        return waiter
    }

    private func terminate(_ brain: SimulatedBrain, _ phase: AppPhase) {
        switch phase {
        case .creating, .waiting, .live, .preparing: stop(brain.app)
        case .stopped, .failed, .unkillable: break
        }
        tell(brain, .terminationRequested(waiter()))
    }

    private func stop(_ index: Int) {
        apps[index].promise.staysDown = true
        (apps[index].promise.isRelaunchWished, apps[index].promise.isRestartDue) = (false, false)
    }

    private func restart(_ brain: SimulatedBrain, _ phase: AppPhase) {
        switch phase {
        case .creating, .live, .preparing:
            (apps[brain.app].promise.staysDown, apps[brain.app].promise.isRelaunchWished) = (false, true)
        case .stopped, .failed, .waiting: beginAnew(brain.app)
        case .unkillable: break
        }
        tell(brain, .restartRequested(waiter()))
    }

    private func launch(_ brain: SimulatedBrain, _ phase: AppPhase) {
        switch phase {
        case .stopped, .failed, .waiting: beginAnew(brain.app)
        case .creating, .live, .preparing, .unkillable: break
        }
        tell(brain, .launchRequested(waiter()))
    }

    private func beginAnew(_ index: Int) {
        (apps[index].promise.staysDown, apps[index].promise.isRelaunchWished) = (false, false)
        (apps[index].promise.isRestartDue, apps[index].promise.instants) = (false, [])
    }

    private func configure(_ brain: SimulatedBrain, _ phase: AppPhase) {
        let index = brain.app
        let former = brain.machine.standing
        let isEnabled = !generator.oneIn(4)
        let needsNewProcess = generator.oneIn(2)
        apps[index].standing = isEnabled ? .enabled : .disabled
        apps[index].settings.delay = .milliseconds(Int64(1 + generator.below(500)))
        if former == .removed {
            apps[index].promise.staysDown = !isEnabled
            apps[index].promise.isRelaunchWished = isEnabled
        } else {
            expect(phase, isNewlyEnabled: isEnabled && former == .disabled, isEnabled, needsNewProcess, index)
        }
        tell(
            brain,
            .configured(
                restart: Shared(wrappedValue: apps[index].settings), isEnabled: isEnabled,
                needsNewProcess: needsNewProcess))
    }

    private func expect(
        _ phase: AppPhase, isNewlyEnabled: Bool, _ isEnabled: Bool, _ needsNewProcess: Bool, _ index: Int
    ) {
        switch phase {
        case .creating, .live, .preparing:
            guard needsNewProcess else { break }
            if !isEnabled {
                stop(index)
            } else if !apps[index].promise.staysDown {
                apps[index].promise.isRelaunchWished = true
            }
        case .stopped, .failed, .waiting:
            if isNewlyEnabled { apps[index].promise.staysDown = false }
            if needsNewProcess, !isEnabled, phase != .stopped { stop(index) }
        case .unkillable: break
        }
    }

    /// The file of an app returns.
    private func reappear(_ index: Int) {
        guard generator.oneIn(3) else { return }
        apps[index].standing = generator.pick([.enabled, .disabled])
        (apps[index].saved, apps[index].promise, apps[index].savedPromise) = (nil, .init(), .init())
        tell(add(index), .begun)
    }
}
