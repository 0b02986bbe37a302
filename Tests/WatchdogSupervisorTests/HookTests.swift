// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogLaunch

@Suite("Hooks")
struct HookTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    @Test("An app may run five hooks in ten minutes; dropped ones are announced once and counted")
    func perApp() {
        var limit = HookLimit()
        for _ in 0..<5 { #expect(limit.admit("a", current: 0, at: start) == .run(dropped: 0)) }
        #expect(limit.admit("a", current: 0, at: start) == .drop(isFirst: true))
        for _ in 0..<995 { #expect(limit.admit("a", current: 0, at: start) == .drop(isFirst: false)) }
        #expect(limit.admit("b", current: 0, at: start) == .run(dropped: 0))
        let early = start + .seconds(600) - .nanoseconds(1)
        #expect(limit.admit("a", current: 0, at: early) == .drop(isFirst: false))
        #expect(limit.admit("a", current: 0, at: start + .seconds(600)) == .run(dropped: 997))
        #expect(limit.admit("a", current: 0, at: start + .seconds(600)) == .run(dropped: 0))
    }

    @Test("All apps together may run sixteen hooks at once")
    func atOnce() {
        var limit = HookLimit()
        #expect(limit.admit("a", current: 15, at: start) == .run(dropped: 0))
        #expect(limit.admit("a", current: 16, at: start) == .drop(isFirst: true))
    }

    @Test("A file that others can write never runs with watchdogd's rights")
    func trust() {
        #expect(HookRequest.isTrusted(owner: 0, mode: 0o100644, for: 0))
        #expect(HookRequest.isTrusted(owner: 0, mode: 0o100644, for: 1000))
        #expect(HookRequest.isTrusted(owner: 1000, mode: 0o100600, for: 1000))
        #expect(!HookRequest.isTrusted(owner: 1000, mode: 0o100600, for: 0))
        #expect(!HookRequest.isTrusted(owner: 0, mode: 0o100664, for: 0))
        #expect(!HookRequest.isTrusted(owner: 0, mode: 0o100646, for: 0))
    }
}
