// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogSymbolication

@Suite("The work clock", .reapsChildren)
struct WorkClockTests {
    /// Starts processes that share one CPU and never sleep.
    private func crowd(_ count: Int) throws -> [Process] {
        let first = "$(awk '/^Cpus_allowed_list/ { split($2, list, /[-,]/); print list[1] }' /proc/self/status)"
        return try (0..<count).map { _ in
            try Process(["sh", "-c", "exec taskset -c \(first) sh -c 'echo ready; while :; do :; done'"])
        }
    }

    @Test("stops while its process waits for a CPU, and continues in the same place without it")
    func waiting() throws {
        let processes = try crowd(4)
        for process in processes { try process.waitUntilReady() }
        let id = processes[0].id
        func waited() throws -> Duration { try #require(ThreadSchedule.read(id, thread: id)).runDelay }
        #expect(try eventually { try waited() >= .milliseconds(600) }, "a fourth of a CPU")
        let clock = WorkClock()
        let began = Instant.now()
        #expect(clock.now() >= began)
        // The kernel counts a wait only when it is over, all at once: sched_info_arrive(), kernel/sched/stats.h.
        let early = try waited()
        clock.follow(id)
        let followed = clock.now()
        let meanwhile = try waited() - early
        #expect(followed + meanwhile >= began, "what it waited before does not count")
        #expect(eventually { clock.now() + .milliseconds(50) <= Instant.now() }, "a fourth of a CPU")
        let before = clock.now()
        let late = try waited()
        clock.leave()
        let left = clock.now()
        let since = try waited() - late
        #expect(left + since >= before)
        #expect(left + .milliseconds(50) <= Instant.now())
    }

    @Test("runs while its process sleeps, and without a process")
    func sleeping() throws {
        let process = try Process(["sh", "-c", "echo ready; exec sleep 600"])
        try process.waitUntilReady()
        let began = Instant.now()
        while true {
            let schedule = ThreadSchedule.read(process.id, thread: process.id)
            let clock = WorkClock()
            clock.follow(process.id)
            let earliest = Instant.now()
            poll(nil, 0, 5)
            let time = clock.now()
            let latest = Instant.now()
            // It may still have been on its way to sleep.
            guard schedule != nil, schedule == ThreadSchedule.read(process.id, thread: process.id) else {
                try #require(Instant.now() < began + patience, "a process that sleeps")
                continue
            }
            #expect(earliest + .milliseconds(5) <= time && time <= latest)
            break
        }
        let clock = WorkClock()
        clock.follow(-1)
        let before = Instant.now()
        let time = clock.now()
        #expect(before <= time && time <= Instant.now())
    }
}
