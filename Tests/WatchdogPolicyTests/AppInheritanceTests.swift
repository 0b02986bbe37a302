// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("An app inherited from the previous watchdogd")
struct AppInheritanceTests {
    private let first = AppLife.first
    private let second = AppLife.second

    private func present(isEnding: Bool = false) -> AppEvent.Resumption {
        .present(launchedAt: .origin, isEnding: isEnding)
    }

    @Test("A running process is resumed, and its launch is not counted again")
    func resumed() {
        var life = AppLife.live().next()
        #expect(life.tell(.inherited(first, isOver: false)) == [.resume(first)])
        #expect(life.tell(.resumed(first, present())) == [])
        #expect(life.tell(.begun) == [])
        #expect(life.machine.phase == .live(first))
    }

    @Test("The next watchdogd counts an unsaved restart exactly once")
    func uncounted() {
        var life = AppLife.live()
        _ = life.crash()
        var next = life.next()
        _ = next.tell(.inherited(second, isOver: false))
        _ = next.tell(.resumed(second, present()))
        #expect(next.machine.restartCount == 1)
        var third = next.next()
        _ = third.tell(.inherited(second, isOver: false))
        _ = third.tell(.resumed(second, present()))
        #expect(third.machine.restartCount == 1)
        _ = third.tell(.terminationRequested(AppWaiter(id: 1, waits: false)))
        var fourth = third.next()
        _ = fourth.tell(.inherited(second, isOver: false))
        #expect(fourth.tell(.resumed(second, present())) == [.terminate(second)], "a later request is not lost")
    }

    @Test("A requested stop is carried out unless the process is already exiting or belongs to a later launch")
    func wishedStop() {
        var life = AppLife.live()
        _ = life.tell(.terminationRequested(AppWaiter(id: 1, waits: true)))
        var next = life.next()
        _ = next.tell(.inherited(first, isOver: false))
        #expect(next.tell(.resumed(first, present())) == [.terminate(first)])
        var ending = life.next()
        _ = ending.tell(.inherited(first, isOver: false))
        #expect(ending.tell(.resumed(first, present(isEnding: true))) == [])
        var later = life.next()
        _ = later.tell(.inherited(second, isOver: false))
        #expect(later.tell(.resumed(second, present())).deeds == [])
    }

    @Test("A requested restart follows the exit that the next watchdogd sees")
    func wishedRestart() {
        var life = AppLife.live(policy: .never)
        _ = life.tell(.restartRequested(AppWaiter(id: 1, waits: true)))
        var next = life.next()
        _ = next.tell(.inherited(first, isOver: true))
        _ = next.tell(.resumed(first, present(isEnding: true)))
        #expect(next.crash().deeds == [.release(first)])
        #expect(next.machine.phase == .waiting(until: next.now))
    }

    @Test("An exit that is already accounted for has no further effect except its report")
    func accounted() {
        var life = AppLife.live(policy: .never)
        _ = life.crash(hasPendingReports: true)
        var next = life.next()
        #expect(next.tell(.inherited(first, isOver: true)) == [.resume(first)])
        #expect(next.tell(.resumed(first, present(isEnding: true))) == [])
        #expect(next.tell(.begun) == [])
        #expect(next.machine.phase == .stopped)
        #expect(!next.machine.isAtRest)
        #expect(next.tell(.reported(first)) == [.release(first)])
    }

    @Test("An accounted exit without a launch is dropped")
    func unfound() {
        var life = AppLife.live(policy: .never)
        _ = life.crash()
        var next = life.next()
        #expect(next.machine.saved?.accounted == [first])
        #expect(next.tell(.begun) == [.saveSoon])
        #expect(next.machine.saved?.accounted == [])
        #expect(next.machine.isAtRest)
    }

    @Test("An exit while no watchdogd was running is handled like any other, and its leftovers are killed")
    func unseenEnd() {
        var life = AppLife.live().next()
        _ = life.tell(.inherited(first, isOver: false))
        let effects = life.tell(.resumed(first, .absent(launchedAt: nil, hasRun: true)))
        #expect(effects.deeds == [.killRemains(first), .release(first)])
        #expect(effects.contains(.publish(.endedUnseen)))
        #expect(life.machine.phase == .waiting(until: life.now))
        var vanished = AppLife.live().next()
        #expect(vanished.tell(.begun).contains(.publish(.endedUnseen)))
        #expect(vanished.machine.phase == .waiting(until: vanished.now))
    }

    @Test("A process that was about to start is started once everything is inherited")
    func neverStarted() {
        var life = AppLife.live().next()
        _ = life.tell(.inherited(second, isOver: false))
        #expect(life.tell(.resumed(second, .absent(launchedAt: nil, hasRun: false))).deeds == [.release(second)])
        var other = life
        #expect(life.tell(.begun).deeds == [.create])
        // A watchdogd that was killed in between had already launched it.
        _ = other.tell(.inherited(first, isOver: false))
        _ = other.tell(.resumed(first, present()))
        #expect(other.tell(.begun).deeds == [])
        #expect(other.machine.phase == .live(first))
    }

    @Test("A launch whose exit is accounted for does not hide a newer running launch")
    func accountedFirst() {
        var life = AppLife.live()
        _ = life.crash()
        var next = life.next()
        _ = next.tell(.inherited(first, isOver: true))
        _ = next.tell(.resumed(first, present(isEnding: true)))
        _ = next.tell(.inherited(second, isOver: false))
        #expect(next.tell(.resumed(second, present())).deeds == [])
        #expect(next.machine.phase == .live(second))
    }

    @Test("An older launch that still runs beside the latest is terminated, and its exit decides nothing")
    func older() {
        var life = AppLife.live().next()
        _ = life.tell(.inherited(first, isOver: false))
        _ = life.tell(.resumed(first, present()))
        _ = life.tell(.inherited(second, isOver: false))
        #expect(life.tell(.resumed(second, present())) == [.terminate(second)])
        #expect(life.tell(.shutDown).deeds == [.terminate(first), .terminate(second)])
        #expect(life.crash(second).deeds == [.release(second)])
        #expect(life.machine.phase == .live(first))
    }

    @Test("A restart counts even if no watchdogd saw it run or exit")
    func unseenRestart() {
        var life = AppLife.live()
        _ = life.crash()
        var next = life.next()
        _ = next.tell(.inherited(second, isOver: false))
        _ = next.tell(.resumed(second, .absent(launchedAt: nil, hasRun: true)))
        #expect(next.machine.restartCount == 1)
    }

    @Test("An older launch without a process is only released, whether or not it ever ran", arguments: [false, true])
    func olderAbsent(hasRun: Bool) {
        var life = AppLife.live().next()
        _ = life.tell(.inherited(first, isOver: false))
        _ = life.tell(.resumed(first, present()))
        _ = life.tell(.inherited(second, isOver: false))
        #expect(life.tell(.resumed(second, .absent(launchedAt: nil, hasRun: hasRun))).deeds == [.release(second)])
        #expect(life.tell(.begun).deeds == [])
        #expect(life.machine.phase == .live(first))
    }

    @Test("An older launch that is over is not terminated, and its exit needs no accounting")
    func olderOver() {
        var life = AppLife.live().next()
        _ = life.tell(.inherited(first, isOver: false))
        _ = life.tell(.resumed(first, present()))
        _ = life.tell(.inherited(second, isOver: true))
        #expect(life.tell(.resumed(second, present())) == [])
        #expect(life.machine.saved?.accounted == [second])
    }

    @Test("A process found with a launch later than the stop keeps running")
    func foundLater() {
        var life = AppLife.live()
        _ = life.tell(.terminationRequested(AppWaiter(id: 1, waits: false)))
        var next = life.next()
        #expect(next.tell(.found(second)).deeds == [.adopt(second)])
    }

    @Test("A found process is adopted and counted, or terminated if a stop was requested")
    func found() {
        var life = AppLife.live()
        _ = life.crash()
        var next = life.next()
        #expect(next.tell(.found(second)).deeds == [.adopt(second)])
        #expect(next.machine.restartCount == 1)
        #expect(next.tell(.begun).deeds == [])
        var running = AppLife.live()
        _ = running.tell(.terminationRequested(AppWaiter(id: 1, waits: false)))
        var stopped = running.next()
        #expect(stopped.tell(.found(first)) == [.adopt(first), .terminate(first)])
    }

    @Test("An app resumes in the stage it was in: stopped, failed, waiting, preparing, or unkillable")
    func stages() {
        func next(
            _ stage: SavedApp.Stage, _ standing: AppStanding = .enabled, afterEnd: SavedApp.AfterEnd = .asConfigured
        ) -> AppLife {
            var saved = AppLife.live().machine.saved ?? { preconditionFailure("a live app is saved") }()
            (saved.stage, saved.afterEnd) = (stage, afterEnd)
            return AppLife(standing, resuming: saved)
        }
        let past = Instant.origin - .seconds(5)
        let future = Instant.origin + .seconds(5)
        var life = next(.stopped)
        #expect(life.tell(.begun) == [])
        life = next(.failed)
        #expect(life.tell(.begun) == [])
        #expect(life.machine.phase == .failed)
        life = next(.waiting(until: future))
        #expect(life.tell(.begun) == [])
        #expect(life.machine.phase == .waiting(until: future))
        life = next(.waiting(until: past))
        #expect(life.tell(.begun) == [.saveSoon])
        #expect(life.machine.phase == .waiting(until: .origin))
        life = next(.preparing)
        #expect(life.tell(.begun).deeds == [.create])
        life = next(.preparing, afterEnd: .stop)
        #expect(life.tell(.begun).deeds == [])
        life = next(.unkillable)
        #expect(life.tell(.begun).deeds == [.create])
        life = next(.unkillable, .disabled)
        #expect(life.tell(.begun).deeds == [])
    }

    @Test("A launch whose app has no file is terminated and forgotten; with an invalid file it keeps running")
    func unconfigured() {
        var removed = AppLife(.removed)
        _ = removed.tell(.inherited(first, isOver: false))
        #expect(removed.tell(.resumed(first, present())).deeds == [.terminate(first)])
        #expect(removed.crash().deeds == [.release(first), .forget])
        var invalid = AppLife(.invalid)
        _ = invalid.tell(.inherited(first, isOver: false))
        #expect(invalid.tell(.resumed(first, present())).deeds == [])
        #expect(invalid.crash().deeds == [.release(first), .forget])
    }

    @Test("An app claims the launch that ran without a configuration")
    func claimed() {
        var life = AppLife(.invalid)
        _ = life.tell(.inherited(first, isOver: false))
        _ = life.tell(.resumed(first, present()))
        #expect(
            life.tell(.configured(restart: AppLife.settings(), isEnabled: true, needsNewProcess: false)).deeds == [])
        #expect(life.crash().deeds == [.release(first)])
        #expect(life.machine.phase == .waiting(until: life.now))
    }

    @Test("An app without a file that has only pending reports is forgotten once they are written")
    func onlyReports() {
        var life = AppLife(.removed)
        _ = life.tell(.inherited(first, isOver: true))
        _ = life.tell(.resumed(first, present(isEnding: true)))
        #expect(life.crash(hasPendingReports: true).deeds == [.forget])
        #expect(!life.machine.isAtRest)
        #expect(life.tell(.reported(first)) == [.release(first)])
        _ = life.tell(.released(first))
        #expect(life.machine.isAtRest)
    }
}
