// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("An app from launch to launch")
struct AppMachineTests {
    private let first = AppLife.first
    private let second = AppLife.second
    private let eager = AppWaiter(id: 1, waits: false)
    private let patient = AppWaiter(id: 2, waits: true)

    // MARK: - Launches

    @Test("An enabled app is launched at startup; a disabled one is not")
    func start() {
        var enabled = AppLife(.enabled)
        #expect(enabled.tell(.begun) == [.saveSoon, .create])
        var disabled = AppLife(.disabled)
        #expect(disabled.tell(.begun) == [])
        #expect(disabled.machine.phase == .stopped)
    }

    @Test("A process without preparations starts immediately, without waiting for a disk")
    func startsProcess() {
        var life = AppLife()
        _ = life.tell(.begun)
        #expect(life.tell(.created(first, hasPreparations: false)) == [.saveSoon, .start(first)])
        #expect(life.machine.phase == .live(first))
    }

    @Test("A launch is saved before its first preparation runs, and its process starts after the last one")
    func preparations() {
        var life = AppLife()
        _ = life.tell(.begun)
        #expect(life.tell(.created(first, hasPreparations: true)) == [.save, .prepare(first)])
        #expect(life.machine.phase == .preparing(first))
        #expect(life.tell(.prepared(first)).deeds == [.start(first)])
    }

    @Test("A failed preparation ends the launch and is handled like any other failure")
    func preparationFails() {
        var life = AppLife.preparing()
        let effects = life.tell(.preparationFailed(first, reason: "no"))
        #expect(effects.deeds == [.release(first)])
        #expect(effects.contains(.publish(.launchFailed(reason: "no"))))
        #expect(life.machine.phase == .waiting(until: life.now))
    }

    @Test("A launch that cannot be created fails its waiter with the reason")
    func creationFails() {
        var life = AppLife(.disabled, policy: .never)
        _ = life.tell(.begun)
        _ = life.tell(.launchRequested(eager))
        #expect(life.tell(.creationFailed(reason: "full")).deeds == [.answer(1, .launchFailed(reason: "full"))])
        #expect(life.machine.phase == .stopped)
    }

    @Test("A waiter is answered when the process is ready, a non-waiter as soon as it runs")
    func answers() {
        var life = AppLife(.disabled)
        _ = life.tell(.begun)
        _ = life.tell(.launchRequested(patient))
        _ = life.tell(.created(first, hasPreparations: false))
        #expect(life.tell(.launched(first, mayBeSilent: false)) == [])
        #expect(life.tell(.ready(first)).deeds == [.answer(2, .running(first))])
        #expect(life.tell(.ready(first)).deeds == [])
        #expect(life.tell(.launchRequested(eager)) == [.answer(1, .alreadyRunning(first))])
    }

    @Test("A silent process that may be silent counts as ready exactly at the limit")
    func silence() {
        var life = AppLife(.disabled)
        _ = life.tell(.begun)
        _ = life.tell(.launchRequested(patient))
        _ = life.tell(.created(first, hasPreparations: false))
        _ = life.tell(.launched(first, mayBeSilent: true))
        #expect(life.machine.nextDeadline == life.now + AppMachine.silenceLimit)
        #expect(life.tell(.deadlineReached, after: AppMachine.silenceLimit - .nanosecond) == [])
        #expect(life.tell(.deadlineReached, after: .nanosecond) == [.inspect(first)])
        var talker = life
        #expect(talker.tell(.inspected(first, isSilent: false, isGone: false)) == [])
        #expect(
            life.tell(.inspected(first, isSilent: true, isGone: false)).deeds == [.answer(2, .running(first))])
        #expect(life.machine.nextDeadline == nil)
    }

    @Test("Late events from a cancelled or former launch change nothing")
    func lateNews() {
        var life = AppLife.live()
        _ = life.crash()
        for event: AppEvent in [
            .prepared(first), .preparationFailed(first, reason: ""), .ready(first),
            .launched(first, mayBeSilent: true), .inspected(first, isSilent: true, isGone: true),
        ] {
            #expect(life.tell(event) == [], "\(event)")
        }
    }

    @Test("Late events from a former launch do not affect the next one", arguments: [false, true])
    func lateNewsForNext(hasPreparations: Bool) {
        var life = AppLife.live()
        _ = life.crash()
        _ = life.tell(.deadlineReached)
        _ = life.tell(.created(second, hasPreparations: hasPreparations))
        let phase = life.machine.phase
        for event: AppEvent in [
            .prepared(first), .preparationFailed(first, reason: ""), .ready(first),
            .launched(first, mayBeSilent: true), .inspected(first, isSilent: true, isGone: true),
        ] {
            #expect(life.tell(event) == [], "\(event)")
            #expect(life.machine.phase == phase, "\(event)")
        }
    }

    @Test("A ready process is not checked for silence")
    func readyBeforeLimit() {
        var life = AppLife()
        _ = life.tell(.begun)
        _ = life.tell(.created(first, hasPreparations: false))
        _ = life.tell(.launched(first, mayBeSilent: true))
        _ = life.tell(.ready(first), after: AppMachine.silenceLimit - .nanosecond)
        #expect(life.machine.nextDeadline == nil)
    }

    @Test("A launch that ends during its preparations cancels them")
    func endDuringPreparations() {
        var life = AppLife.preparing()
        #expect(life.crash().deeds == [.cancelPreparation(first), .release(first)])
    }

    // MARK: - Exits

    @Test("A crash causes one restart, which counts once")
    func restart() {
        var life = AppLife.live()
        let effects = life.crash()
        #expect(effects.first == .saveSoon, "saved before the launch's own state is removed")
        #expect(effects.deeds == [.release(first)])
        #expect(effects.contains(.publish(.exited(first, .signaled(signal: 11, coreDumped: false)))))
        #expect(life.machine.phase == .waiting(until: life.now))
        #expect(life.machine.restartCount == 0)
        #expect(life.tell(.deadlineReached).deeds == [.create])
        #expect(life.machine.restartCount == 1)
        #expect(life.machine.restartsByCause == [.crash: 1])
    }

    @Test("A process that finished its work counts as launched; one that failed does not")
    func workDone() {
        for (status, answer) in [
            (ExitStatus.exited(code: 0), AppAnswer.done(reason: "x")), (.exited(code: 1), .launchFailed(reason: "x")),
        ] {
            var life = AppLife(.disabled, policy: .never)
            _ = life.tell(.begun)
            _ = life.tell(.launchRequested(patient))
            _ = life.tell(.created(first, hasPreparations: false))
            let outcome = Outcome(cause: .exited, status: status, isDeathVerified: true)
            let effects = life.tell(.ended(first, .init(outcome, hasPendingReports: false, reason: "x")))
            #expect(effects.contains(.answer(2, answer)))
            #expect(life.machine.phase == .stopped)
        }
    }

    @Test("A launch is released once its reports are written, and the app rests once nothing of it is saved")
    func reports() {
        var life = AppLife.live(policy: .never)
        #expect(life.crash(hasPendingReports: true).deeds == [])
        #expect(!life.machine.isAtRest)
        #expect(life.tell(.reported(first)) == [.release(first)])
        #expect(life.tell(.reported(first)) == [], "it is given up once")
        #expect(!life.machine.isAtRest)
        #expect(life.tell(.released(first)) == [])
        #expect(life.machine.isAtRest)
    }

    @Test("A report of a running launch releases nothing")
    func reportOfLiveLaunch() {
        var life = AppLife.live()
        #expect(life.tell(.reported(first)) == [])
    }

    @Test("An app at its restart limit stays down until somebody launches it")
    func limit() {
        var life = AppLife.live()
        var launch = first
        for number in 0..<3 {
            _ = life.crash(launch)
            _ = life.tell(.deadlineReached, after: .minutes(1))
            launch = LaunchID("\(number)")
            _ = life.tell(.created(launch, hasPreparations: false))
            _ = life.tell(.ready(launch))
        }
        _ = life.crash(launch)
        #expect(life.machine.phase == .failed)
        #expect(life.machine.reachedLimit?.count == 3)
        #expect(life.machine.nextDeadline == nil)
        #expect(life.tell(.launchRequested(eager)).deeds == [.create])
        #expect(life.machine.reachedLimit == nil)
        _ = life.tell(.created(second, hasPreparations: false))
        _ = life.crash(second)
        #expect(life.machine.phase == .waiting(until: life.now), "launched by hand, it starts over")
    }

    @Test("A restart that cannot arm a timer leaves the app failed and fails its waiter")
    func noTimer() {
        var life = AppLife.live()
        _ = life.tell(.restartRequested(patient))
        _ = life.crash()
        let effects = life.tell(.timerFailed(reason: "EMFILE"))
        #expect(effects.contains(.publish(.restartImpossible(reason: "EMFILE"))))
        #expect(effects.deeds == [.answer(2, .launchFailed(reason: "EMFILE"))])
        #expect(life.machine.phase == .failed)
        var running = AppLife.live()
        #expect(running.tell(.timerFailed(reason: "EMFILE")) == [])
    }

    // MARK: - Unkillable

    @Test("Nothing starts beside processes that survive SIGKILL, and every waiter is answered")
    func unkillable() {
        var life = AppLife.live()
        _ = life.tell(.terminationRequested(patient))
        let end = AppEvent.End(AppLife.crash.unverified, hasPendingReports: false, reason: "x")
        #expect(life.tell(.ended(first, end)).deeds == [.answer(2, .unkillable(first))])
        #expect(life.machine.phase == .unkillable(first))
        for event in [AppEvent.launchRequested, AppEvent.restartRequested, AppEvent.terminationRequested] {
            #expect(life.tell(event(eager)) == [.answer(1, .unkillable(first))])
        }
        #expect(life.tell(.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: true)).deeds == [])
    }

    @Test("Processes that survive SIGKILL are checked every second, and pending requests run once they are gone")
    func remains() {
        var life = AppLife.unkillable()
        #expect(life.tell(.deadlineReached) == [.inspect(first)])
        #expect(life.tell(.inspected(first, isSilent: false, isGone: false)) == [])
        #expect(life.machine.nextDeadline == life.now + .seconds(1))
        #expect(life.tell(.deadlineReached, after: .seconds(1)) == [.inspect(first)])
        let effects = life.tell(.inspected(first, isSilent: false, isGone: true))
        #expect(effects.deeds == [.release(first)])
        #expect(effects.contains(.publish(.remainsGone)))
        #expect(life.machine.phase == .waiting(until: life.now))
    }

    @Test("An app with unkillable processes rests as soon as its reports are written")
    func unkillableRest() {
        var life = AppLife.unkillable(hasPendingReports: true)
        #expect(!life.machine.isAtRest)
        #expect(life.tell(.reported(first)) == [])
        #expect(life.machine.isAtRest)
    }

    @Test("Only its own exit ends an unkillable launch, and its reports are still written")
    func remainsReported() {
        var life = AppLife.unkillable(hasPendingReports: true)
        #expect(life.tell(.inspected(second, isSilent: false, isGone: true)) == [])
        #expect(life.machine.phase == .unkillable(first))
        #expect(life.tell(.inspected(first, isSilent: false, isGone: true)).deeds == [])
        #expect(life.tell(.reported(first)) == [.release(first)])
    }

    @Test("Each waiter gets exactly one answer, whatever happens to the app", arguments: [false, true])
    func oneAnswer(isKillable: Bool) {
        var life = AppLife(.disabled)
        _ = life.tell(.begun)
        var answers = life.tell(.launchRequested(eager))
        answers += life.tell(.created(first, hasPreparations: false))
        if isKillable {
            answers += life.tell(.launched(first, mayBeSilent: false)) + life.tell(.ready(first))
            #expect(answers.deeds.suffix(1) == [.answer(1, .running(first))])
        }
        answers += life.tell(.terminationRequested(patient))
        let outcome = isKillable ? AppLife.crash : AppLife.crash.unverified
        answers += life.tell(.ended(first, .init(outcome, hasPendingReports: false, reason: "x")))
        if isKillable {
            answers += life.tell(.launchRequested(AppWaiter(id: 3, waits: true)))
            answers += life.tell(.created(second, hasPreparations: false))
            answers += life.crash(second)
        }
        for id in [1, 2] {
            let count = answers.filter { if case .answer(id, _) = $0 { true } else { false } }.count
            #expect(count == 1, "\(id)")
        }
    }

    @Test("A manual launch while the app waits is not a restart")
    func launchedWhileWaiting() {
        var life = AppLife.live()
        _ = life.crash()
        #expect(life.tell(.launchRequested(eager)).deeds == [.create])
        #expect(life.machine.restartCount == 0)
    }

    @Test("A failed app is forgotten when its file is removed")
    func failedUnconfigured() {
        var life = AppLife.live()
        _ = life.crash()
        _ = life.tell(.timerFailed(reason: "EMFILE"))
        #expect(life.machine.phase == .failed)
        #expect(life.tell(.unconfigured).deeds == [.forget])
    }

    // MARK: - Operators

    @Test("A stop is saved before the process is signaled, and nothing starts afterwards")
    func stop() {
        var life = AppLife.live()
        #expect(life.tell(.terminationRequested(patient)) == [.save, .terminate(first)])
        #expect(life.machine.saved?.afterEnd == .stop)
        #expect(life.tell(.terminationRequested(eager)).contains(.terminate(first)), "said again, it is killed")
        #expect(life.crash().deeds == [.release(first), .answer(2, .terminated(isGone: true))])
        #expect(life.machine.phase == .stopped)
        #expect(life.tell(.terminationRequested(eager)) == [.answer(1, .notRunning)])
    }

    @Test("A stop while a launch is being created cancels it; a restart creates another")
    func stopDuringCreation() {
        var life = AppLife(.disabled)
        _ = life.tell(.begun)
        _ = life.tell(.launchRequested(patient))
        #expect(life.machine.phase == .creating)
        #expect(life.tell(.launchRequested(eager)) == [.answer(1, .alreadyRunning(nil))])
        var restarted = life
        #expect(
            life.tell(.terminationRequested(eager)).deeds
                == [
                    .answer(1, .terminated(isGone: false)), .cancelCreation,
                    .answer(2, .launchFailed(reason: "it was terminated")),
                ])
        #expect(life.machine.phase == .stopped)
        // Both events may have been in flight.
        #expect(life.tell(.created(first, hasPreparations: false)).deeds == [.release(first)])
        #expect(life.tell(.creationFailed(reason: "full")).deeds == [])
        #expect(life.machine.phase == .stopped)
        #expect(life.machine.counted == nil)
        #expect(restarted.tell(.restartRequested(eager)).deeds == [.cancelCreation])
        #expect(restarted.tell(.deadlineReached).deeds == [.create])
        _ = restarted.tell(.created(first, hasPreparations: false))
        #expect(
            restarted.tell(.launched(first, mayBeSilent: false)).deeds == [.answer(1, .running(first))])
    }

    @Test("A stop cancels preparations, and ends a wait")
    func earlyStop() {
        var preparing = AppLife.preparing()
        let effects = preparing.tell(.terminationRequested(eager))
        #expect(
            effects.deeds == [.answer(1, .terminated(isGone: false)), .cancelPreparation(first), .release(first)])
        #expect(effects.contains(.save))
        #expect(preparing.machine.phase == .stopped)
        var waiting = AppLife.live()
        _ = waiting.crash()
        #expect(waiting.tell(.terminationRequested(eager)).deeds == [.answer(1, .terminated(isGone: true))])
        #expect(waiting.machine.phase == .stopped)
        #expect(waiting.machine.nextDeadline == nil)
    }

    @Test("A restart terminates the process, launches another, and answers when that one runs")
    func requestedRestart() {
        var life = AppLife.live(policy: .never)
        #expect(life.tell(.restartRequested(eager)) == [.save, .terminate(first)])
        #expect(life.crash().deeds == [.release(first)])
        #expect(life.tell(.deadlineReached).deeds == [.create])
        _ = life.tell(.created(second, hasPreparations: false))
        #expect(life.tell(.launched(second, mayBeSilent: false)) == [.answer(1, .running(second))])
        #expect(life.machine.requestedRestarts == 1)
        #expect(life.machine.restartCount == 0)
    }

    @Test("A requested exit is not published as an exit, and a requested restart resets the delays")
    func restartStartsOver() {
        func isExit(_ effect: AppEffect) -> Bool {
            if case .publish(.exited) = effect { true } else { false }
        }
        var life = AppLife.live()
        #expect(life.crash().contains(where: isExit))
        _ = life.tell(.deadlineReached)
        _ = life.tell(.created(second, hasPreparations: false))
        _ = life.tell(.restartRequested(eager))
        #expect(!life.crash(second).contains(where: isExit))
        _ = life.tell(.deadlineReached)
        let third = LaunchID("third")
        _ = life.tell(.created(third, hasPreparations: false))
        _ = life.crash(third)
        #expect(life.machine.phase == .waiting(until: life.now))
    }

    @Test("A restart of an app without a valid file only stops it")
    func restartUnconfigured() {
        var life = AppLife(.invalid)
        _ = life.tell(.inherited(first, isOver: false))
        _ = life.tell(.resumed(first, .present(launchedAt: .origin, isEnding: false)))
        _ = life.tell(.restartRequested(patient))
        #expect(life.crash().deeds == [.release(first), .answer(2, .launchFailed(reason: "crashed")), .forget])
    }

    @Test("A stop after a restart request wins, and fails the restart's waiters")
    func stopAfterRestart() {
        var life = AppLife.live()
        _ = life.tell(.restartRequested(patient))
        _ = life.tell(.terminationRequested(eager))
        #expect(life.crash().deeds == [.release(first), .answer(2, .launchFailed(reason: "crashed"))])
        #expect(life.machine.phase == .stopped)
    }

    // MARK: - Configuration

    @Test("A changed process is relaunched; an unchanged one keeps running")
    func reconfigured() {
        var life = AppLife.live()
        #expect(life.tell(.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: false)) == [])
        let change = AppEvent.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: true)
        #expect(life.tell(change) == [.save, .terminate(first)])
        #expect(life.tell(change) == [], "a second reload does not kill it")
        _ = life.crash()
        #expect(life.machine.phase == .waiting(until: life.now))
    }

    @Test("A stopped app stays down across a reload, even while it is still exiting")
    func reconfiguredStopped() {
        let change = AppEvent.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: true)
        var life = AppLife.live()
        _ = life.tell(.terminationRequested(eager))
        #expect(life.tell(change) == [])
        _ = life.crash()
        #expect(life.tell(change) == [])
        #expect(life.machine.phase == .stopped)
    }

    @Test("An app that becomes enabled is launched; one that becomes disabled keeps running unless its process changes")
    func enabled() {
        func configured(_ isEnabled: Bool, _ needsNewProcess: Bool = false) -> AppEvent {
            .configured(restart: AppLife.settings(), isEnabled: isEnabled, needsNewProcess: needsNewProcess)
        }
        var stopped = AppLife(.disabled)
        _ = stopped.tell(.begun)
        #expect(stopped.tell(configured(false, true)) == [])
        #expect(stopped.tell(configured(true)).deeds == [.create])
        var live = AppLife.live()
        #expect(live.tell(configured(false)) == [])
        #expect(live.tell(configured(false, true)) == [.save, .terminate(first)])
        _ = live.crash()
        #expect(live.machine.phase == .stopped)
    }

    @Test("An app that is disabled while it exits, waits, or has no file stays down")
    func disabled() {
        let disable = AppEvent.configured(restart: AppLife.settings(), isEnabled: false, needsNewProcess: true)
        var ending = AppLife.live()
        _ = ending.tell(.restartRequested(eager))
        _ = ending.tell(disable)
        _ = ending.crash()
        #expect(ending.machine.phase == .stopped)
        var waiting = AppLife.live()
        _ = waiting.crash()
        _ = waiting.tell(disable)
        #expect(waiting.machine.phase == .stopped)
        var back = AppLife.live()
        _ = back.tell(.unconfigured)
        #expect(back.machine.saved?.afterEnd == .relaunch, "who reads this has found the file again")
        _ = back.tell(disable)
        _ = back.crash()
        #expect(back.machine.phase == .stopped)
    }

    @Test("A waiting app is launched when it becomes enabled; new settings apply from its next exit")
    func settings() {
        var waiting = AppLife.live(.disabled)
        _ = waiting.crash()
        let enable = AppEvent.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: false)
        #expect(waiting.tell(enable).deeds == [.create])
        var life = AppLife.live()
        _ = life.tell(.configured(restart: AppLife.settings(.never), isEnabled: true, needsNewProcess: false))
        _ = life.crash()
        #expect(life.machine.phase == .stopped)
    }

    @Test("A configuration change while the app waits triggers a launch immediately")
    func reconfiguredWaiting() {
        var life = AppLife.live()
        _ = life.crash()
        let change = AppEvent.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: true)
        #expect(life.tell(change).deeds == [.create])
    }

    @Test("An app whose file disappears is terminated once and forgotten; if the file returns, it is relaunched")
    func unconfigured() {
        var life = AppLife.live()
        #expect(life.tell(.unconfigured) == [.save, .terminate(first)])
        #expect(life.tell(.unconfigured) == [])
        var again = life
        #expect(life.crash().deeds == [.release(first), .forget])
        #expect(life.machine.saved == nil)
        _ = again.tell(.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: false))
        #expect(again.crash().deeds == [.release(first)])
        #expect(again.machine.phase == .waiting(until: again.now))
        var stopped = AppLife(.disabled)
        _ = stopped.tell(.begun)
        #expect(stopped.tell(.unconfigured).deeds == [.forget])
    }

    // MARK: - Shutdown

    @Test("A shutdown of watchdogd terminates the process, leaves no saved state, and does not disable the app")
    func shutdown() {
        var life = AppLife.live()
        #expect(life.tell(.shutDown) == [.save, .terminate(first)])
        #expect(life.machine.saved?.afterEnd == .relaunch, "killed now, the next watchdogd launches it again")
        #expect(life.crash().deeds == [.release(first)])
        #expect(life.machine.phase == .stopped)
        #expect(life.machine.saved == nil)
    }
}
