// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogLaunch
@testable import WatchdogPolicy
@testable import WatchdogRun

@Suite("Running hooks", .serialized, .reapsChildren)
struct HookRunTests {
    private let bench: HostBench
    private var hooks: IncidentHooks { bench.host.hooks }

    init() throws { bench = try HostBench("hooks") }

    private func facts(_ app: String) -> HookFacts {
        let verdict = Verdict(judging: HangEvidence(processorCount: 2))
        return HookFacts(app: app, event: "crash", code: "1", ReportOutcome(verdict: verdict))
    }

    private func request(_ command: String, within limit: Duration = patience) -> HookRequest {
        var hook = IncidentHook(command)
        hook.timeout = limit
        return HookRequest(hook)
    }

    @Test("A hook that never ends is killed at its limit with its children; a shorter one before it is not")
    func limit() throws {
        var ends = 0
        hooks.onIdle = { ends += 1 }
        let marker = "\(Environment.inherited["TMPDIR"] ?? "/tmp")/watchdogd-hook-\(UInt64.random(in: .min ... .max))"
        defer { unlink(marker) }
        hooks.run(request("exec touch '\(marker)'"), for: facts("short"))
        try bench.turn("the short one ends") { ends == 1 }
        #expect(access(marker, F_OK) == 0)
        hooks.run(request("setsid sleep 31415 & exec sleep 31415", within: .milliseconds(300)), for: facts("long"))
        #expect(!hooks.isIdle)
        try bench.turn("the long one is killed") { ends == 2 }
        #expect(hooks.isIdle)
        try bench.expectNothingLeft("the hooks")
    }

    @Test("Each hook has its own limit, 30 s by default")
    func ownLimits() {
        #expect(HookRequest(IncidentHook("true")).limit == .seconds(30))
        #expect(request("true", within: .seconds(7)).limit == .seconds(7))
    }

    @Test("A hang that ended by itself runs a command only if configured, and has its own count")
    func hangs() throws {
        let hang = Hang(
            event: .sceneUpdate, startedAt: Instant(nanoseconds: 0), duration: .seconds(2), allowance: .seconds(10))
        let report = ReportOutcome(verdict: Verdict(judging: HangEvidence(processorCount: 2)))
        let facts = HookFacts(hang, report, of: "app")
        #expect(facts.variables.contains { $0.name == "WATCHDOGD_EVENT" && $0.value == "hang" })
        for isWanted in [false, true] {
            var hook = IncidentHook("exec sleep 31415")
            hook.includesHangs = isWanted
            hooks.run(hook, orOf: nil, for: facts)
            #expect(hooks.isIdle == !isWanted)
        }
        var limit = HookLimit()
        let start = Instant(nanoseconds: 1_000_000_000_000)
        for _ in 0..<6 { _ = limit.admit(facts.limitKey, current: 0, at: start) }
        #expect(limit.admit(self.facts("app").limitKey, current: 0, at: start) == .run(dropped: 0))
        hooks.stop()
        try bench.expectNothingLeft("the hooks")
    }

    @Test("Four hooks run at a time, twelve wait, and the next is dropped")
    func many() throws {
        for number in 1...17 { hooks.run(request("exit 0"), for: facts("app\(number)")) }
        var most = 0
        try bench.turn("all have ended") {
            most = max(most, hooks.children.count)
            return hooks.isIdle
        }
        #expect(most <= IncidentHooks.runningLimit)
        try bench.expectNothingLeft("the hooks")
    }

    @Test("One hook per app runs at a time; hooks of other apps do not wait for it")
    func oneOfEach() throws {
        for _ in 1...5 { hooks.run(request("exec sleep 31415"), for: facts("slow")) }
        try bench.turn("the first runs") { hooks.children.count == 1 }
        let marker = "\(Environment.inherited["TMPDIR"] ?? "/tmp")/watchdogd-hook-\(UInt64.random(in: .min ... .max))"
        defer { unlink(marker) }
        hooks.run(request("exec touch '\(marker)'"), for: facts("other"))
        var most = 0
        try bench.turn("the other one's has run") {
            most = max(most, hooks.children.count)
            // Until the launch has finished, the hook runs but is not yet a child of the hooks.
            return bench.system.launchingChildren.isEmpty && hooks.children.count == 1 && access(marker, F_OK) == 0
        }
        #expect(most <= 2)
        hooks.stop()
        try bench.expectNothingLeft("the hooks")
    }

    @Test("Hooks that are still running when watchdogd exits are killed")
    func stop() throws {
        hooks.run(request("exec sleep 31415"), for: facts("app"))
        try bench.turn("it runs") { !hooks.children.isEmpty }
        hooks.stop()
        #expect(hooks.isIdle)
        try bench.expectNothingLeft("the hooks")
    }
}
