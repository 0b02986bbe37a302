// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogVerdict

@testable import WatchdogReport

@Suite("The main thread's times, completed by its samples")
struct MainThreadTimesTests {
    /// Of a window of one second, the thread ran 700 ms and waited 50; its last half was sampled.
    private func facts(
        _ states: [String], stopped: Duration = .zero, stolen: Duration = .zero, ran: Duration = .milliseconds(450)
    ) -> IncidentFacts {
        var facts = Samples.facts()
        let stacks = states.map { ProcessSamples.Stack(state: $0, syscall: nil, waitChannel: nil, frames: []) }
        var samples = ProcessSamples(
            process: facts.pid, name: "app", path: "/app", time: WallTime(seconds: 0, nanoseconds: 0),
            interval: .milliseconds(100), duration: .milliseconds(500), sampleCount: states.count, stacks: stacks,
            images: [])
        samples.threads = [
            ProcessSamples.Thread(
                id: facts.pid, name: "app", runTime: ran, stopped: stopped,
                runs: states.indices.map { .init(first: $0, count: 1, stack: $0) })
        ]
        facts.samples = samples
        facts.evidence = HangEvidence(
            window: .seconds(1), runTime: .milliseconds(700), runDelay: .milliseconds(50), state: "R",
            processorCount: 2)
        facts.evidence.strain = Strain(window: .milliseconds(500))
        facts.evidence.strain?.stolen = stolen
        facts.completeTimes()
        return facts
    }

    @Test("A thread that was runnable in every sample waited for a CPU whenever the hypervisor had it")
    func stolen() {
        #expect(facts(["R", "R"]).evidence.runDelay == .milliseconds(50))
        // Before the samples, the hypervisor took as much: half of 100 ms each.
        #expect(facts(["R", "R"], stolen: .milliseconds(50)).evidence.runDelay == .milliseconds(150))
        #expect(facts(["R", "R"], stolen: .seconds(2)).evidence.runDelay == .milliseconds(300))
    }

    @Test("A thread that slept in one sample, or has only one sample, may have slept the rest of the time")
    func asleep() {
        #expect(facts(["R", "S"], stolen: .seconds(2)).evidence.runDelay == .milliseconds(50))
        #expect(facts(["R"], stolen: .seconds(2)).evidence.runDelay == .milliseconds(50))
    }

    @Test("A pending wait is counted; a stop for the samples is not part of it")
    func pending() {
        #expect(facts(["R", "R"], ran: .milliseconds(100)).evidence.runDelay == .milliseconds(400))
        let facts = facts(["R", "R"], stopped: .milliseconds(60), ran: .milliseconds(100))
        #expect(facts.evidence.runDelay == .milliseconds(340))
        #expect(facts.evidence.stopped == .milliseconds(60))
        #expect(facts.evidence.statements(pid: 7).contains { $0.value == "0.060000 s" })
    }
}
