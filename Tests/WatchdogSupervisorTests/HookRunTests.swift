// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogVerdict

@testable import WatchdogSupervisor

@Suite("Hooks that run", .serialized)
struct HookRunTests {
    private let bench: HostBench
    private var hooks: IncidentHooks { bench.host.hooks }

    init() throws { bench = try HostBench("hooks") }

    private func facts(_ app: String) -> HookFacts {
        let verdict = Verdict(judging: HangEvidence(processorCount: 2))
        return HookFacts(app: app, event: "crash", code: "1", ReportOutcome(verdict: verdict))
    }

    private func expectNothingLeft() throws {
        try bench.turn("nothing is left, but \(bench.system.leftovers)") {
            bench.host.removeSpentCgroups()
            return bench.system.leftovers.isEmpty
        }
    }

    @Test("One that never ends is killed at its limit, with what it started; a short one before it is not")
    func limit() throws {
        hooks.limit = .milliseconds(300)
        var ends = 0
        hooks.onIdle = { ends += 1 }
        hooks.run(HookRequest(command: "exit 0"), for: facts("short"))
        try bench.turn("the short one ends") { ends == 1 }
        hooks.run(HookRequest(command: "setsid sleep 31415 & exec sleep 31415"), for: facts("long"))
        #expect(!hooks.isIdle)
        try bench.turn("the long one is killed") { ends == 2 }
        #expect(hooks.isIdle)
        try expectNothingLeft()
    }

    @Test("Four run at a time, twelve wait, and the next is dropped")
    func many() throws {
        for number in 1...17 { hooks.run(HookRequest(command: "exit 0"), for: facts("app\(number)")) }
        var most = 0
        try bench.turn("all have ended") {
            most = max(most, hooks.children.count)
            return hooks.isIdle
        }
        #expect(most <= IncidentHooks.runningLimit)
        try expectNothingLeft()
    }

    @Test("What still runs when watchdogd ends is killed")
    func stop() throws {
        hooks.run(HookRequest(command: "exec sleep 31415"), for: facts("app"))
        try bench.turn("it runs") { !hooks.children.isEmpty }
        hooks.stop()
        #expect(hooks.isIdle)
        bench.host.childrenChanged()
        try expectNothingLeft()
    }
}
