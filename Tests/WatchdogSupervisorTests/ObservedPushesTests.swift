// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("WATCHDOG=1 as systemd reports it")
struct ObservedPushesTests {
    private func unit(watchdog: UInt64, push: UInt64) -> ServiceUnit {
        ServiceUnit(
            name: "web.service", loadState: "loaded", activeState: "active", mainProcess: 7, cgroup: "/web",
            watchdogMicroseconds: watchdog, lastPushMicroseconds: push, result: "success")
    }

    @Test("A service that systemd does not watch has no allowance", arguments: [0, UInt64.max])
    func unwatched(watchdog: UInt64) {
        var pushes = ObservedPushes()
        #expect(pushes.events(in: unit(watchdog: watchdog, push: 5)) == [])
        #expect(ObservedPushes.poll(unit(watchdog: watchdog, push: 5)) == .seconds(1))
    }

    @Test("The first reading sets the allowance; later ones distinguish new pushes from old ones")
    func pushed() {
        var pushes = ObservedPushes()
        let allowance = ObservedPushes.allowance(within: .seconds(10), poll: .milliseconds(500))
        #expect(pushes.events(in: unit(watchdog: 10_000_000, push: 100)) == [.allowance(allowance)])
        #expect(pushes.events(in: unit(watchdog: 10_000_000, push: 100)) == [])
        #expect(pushes.events(in: unit(watchdog: 10_000_000, push: 101)) == [.pushed])
        #expect(pushes.events(in: unit(watchdog: 10_000_000, push: 101)) == [])
    }

    @Test("A service that stops being watched is no longer expected to push")
    func noLongerWatched() {
        var pushes = ObservedPushes()
        _ = pushes.events(in: unit(watchdog: 10_000_000, push: 100))
        #expect(pushes.events(in: unit(watchdog: 0, push: 100)) == [.allowance(.zero)])
        #expect(pushes.events(in: unit(watchdog: 0, push: 100)) == [])
    }

    @Test(
        "The allowance ends before systemd's, with time for a capture, however late a push is noticed",
        arguments: [2, 4, 10, 30, 300])
    func margin(seconds: Int64) {
        let interval = Duration.seconds(seconds)
        let poll = ObservedPushes.poll(unit(watchdog: UInt64(seconds) * 1_000_000, push: 1))
        let latest = poll + ObservedPushes.allowance(within: interval, poll: poll)
        #expect(latest <= interval - .milliseconds(500))
        #expect(latest >= interval / 2)
    }

    @Test("A property that overflows is ignored")
    func hugeProperties() {
        let unit = unit(watchdog: .max / 1_000 + 1, push: .max)
        #expect(unit.watchdogInterval == nil)
        #expect(unit.lastPush == nil)
    }

    @Test("Without a probe, only a service that systemd watches can be judged")
    func judgeable() {
        #expect(throws: Never.self) {
            try ObservedPushes.checkJudgeable(.service("web.service"), nil, unit(watchdog: 1_000_000, push: 1))
        }
        #expect(throws: RunError.self) {
            try ObservedPushes.checkJudgeable(.service("web.service"), nil, unit(watchdog: 0, push: 1))
        }
        #expect(throws: RunError.self) { try ObservedPushes.checkJudgeable(.process(7), nil, nil) }
    }
}
