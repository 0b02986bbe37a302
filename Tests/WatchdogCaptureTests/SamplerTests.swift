// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogReport

@testable import WatchdogCapture

@Suite("Sampling a process", .reapsChildren)
struct SamplerTests {
    private static func take(
        _ process: Int32, looks: Int, stopsRunning: Bool = true
    ) throws -> Sampling {
        try Sampling.take(
            of: process,
            SamplingOptions(
                interval: .milliseconds(1), duration: .milliseconds(looks - 1) + .microseconds(500),
                stopsRunning: stopsRunning))
    }

    @Test("keeps one stack for a sleeping thread, with its bytes, and stops nothing")
    func sleepers() throws {
        let subject = try Subject("threads", "3")
        try subject.waitUntilAsleep()
        let looks = Mutex(0)
        let options = SamplingOptions(interval: .milliseconds(1), duration: patience)
        let sampling = try Sampling.take(of: subject.process, options) { _ in
            looks.withLock { looks in
                looks += 1
                return looks <= 100
            }
        }
        #expect(sampling.stopCount == 0)
        #expect(sampling.lostCount == 0)
        #expect(!sampling.hasEnded)
        #expect(sampling.sampleCount == 101)
        #expect(Set(sampling.threads.map(\.id)) == Set(subject.markers.map(\.thread)))
        #expect(sampling.runs.count == 3)
        #expect(sampling.runs.allSatisfy { $0.first == 0 && $0.count == sampling.sampleCount })
        let contents = try sampling.snapshot.contents()
        #expect(contents.threads.map(\.id) == [1, 2, 3])
        for marker in subject.markers {
            let run = try #require(sampling.runs.first { $0.thread == marker.thread })
            let thread = try #require(contents.threads.first { $0.id == run.stack })
            let stack = try #require(thread.stack)
            #expect(thread.state == "S")
            #expect(thread.registerSource == .syscallFile)
            let offset = Int(marker.address - stack.address)
            let word = stack.bytes.dropFirst(offset).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            #expect(word == marker.value, "the stack is the thread's own")
        }
    }

    @Test("stops a thread on a CPU for its registers, or counts it without a stack")
    func runners() throws {
        let subject = try Subject("spin")
        // A thread without a CPU does not stop within the few milliseconds for which a sample waits.
        let isSeen = try eventually {
            let stopped = try Self.take(subject.process, looks: 100)
            #expect(stopped.refusal == nil)
            let contents = try stopped.snapshot.contents()
            let isStopped = contents.threads.contains { $0.registerSource == .ptrace && $0.stack != nil }
            #expect(!isStopped || stopped.stopCount > 0)
            return isStopped
        }
        #expect(isSeen)

        let left = try Self.take(subject.process, looks: 20, stopsRunning: false)
        #expect(left.stopCount == 0)
        let states = try left.snapshot.contents().threads
        #expect(states.contains { $0.state == "R" && $0.registerSource == .none && $0.systemCall == "running" })
        #expect(kill(subject.process, 0) == 0)
    }

    @Test("ends when the process exits, and keeps the samples")
    func end() throws {
        let subject = try Subject("threads", "2")
        try subject.waitUntilAsleep()
        let process = subject.process
        let sampling = try Sampling.take(
            of: process, SamplingOptions(interval: .milliseconds(1), duration: patience)
        ) { _ in
            kill(process, SIGKILL)
            while waitpid(process, nil, WNOHANG) == 0 { usleep(1000) }
            return true
        }
        subject.leaveReaping()
        #expect(sampling.hasEnded)
        #expect(sampling.sampleCount == 1)
        #expect(try sampling.snapshot.contents().threads.count == 2)
        #expect(throws: SnapshotError.self) { try Self.take(subject.process, looks: 2) }
    }
}
