// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("An app can be reloaded")
struct ReloadObstacleTests {
    @Test("while it is ready, and once at a time")
    func ready() {
        var life = Timeline(.app { $0.readiness = .channel }, isLaunched: false)
        #expect(life.machine.reloadObstacle(isReloading: false) == .notReady)
        life.tell(.launchRequested, .hello)
        #expect(life.machine.reloadObstacle(isReloading: false) == .notReady)
        life.tell(.ready(.channel))
        #expect(life.machine.reloadObstacle(isReloading: false) == nil)
        #expect(life.machine.reloadObstacle(isReloading: true) == .reloading)
        life.at(.seconds(1), .terminateRequested)
        #expect(life.machine.reloadObstacle(isReloading: false) == .ending)
        life.at(.seconds(2), .exited(.exited(code: 0)))
        #expect(life.machine.reloadObstacle(isReloading: false) == .ending)
        life.run(to: .seconds(3))
        #expect(life.outcome != nil)
        #expect(life.machine.reloadObstacle(isReloading: false) == .ending)
    }

    @Test("not while its stacks are captured, but afterward if it lives on")
    func captured() {
        var life = Timeline.pinging(.reporting)
        life.run(to: .seconds(10))
        #expect(life.machine.reloadObstacle(isReloading: false) == .capturing)
        life.run(to: .milliseconds(10_003))
        #expect(life.machine.reloadObstacle(isReloading: false) == nil)
    }

    @Test("in the background, but not while it is suspended")
    func suspended() {
        var life = Timeline.inBackground()
        #expect(life.machine.reloadObstacle(isReloading: false) == nil)
        life.ask(.suspend)
        #expect(life.state == .suspended)
        #expect(life.machine.reloadObstacle(isReloading: false) == .suspended)
        life.ask(.resume)
        #expect(life.machine.reloadObstacle(isReloading: false) == nil)
    }
}
