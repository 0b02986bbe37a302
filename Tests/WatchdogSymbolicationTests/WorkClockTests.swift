// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogSymbolication

@Suite("The clock of the work")
struct WorkClockTests {
    /// Starts processes that share one CPU and never sleep.
    private func crowd(_ count: Int) throws -> [Process] {
        let first = "$(awk '/^Cpus_allowed_list/ { split($2, list, /[-,]/); print list[1] }' /proc/self/status)"
        return try (0..<count).map { _ in
            try Process(["sh", "-c", "exec taskset -c \(first) sh -c 'echo ready; while :; do :; done'"])
        }
    }

    @Test("stops while its process waits for a CPU, and goes on in the same place without it")
    func waiting() throws {
        let processes = try crowd(4)
        for process in processes { try process.waitUntilReady() }
        let id = processes[0].id
        // The kernel counts a wait when it is over, all at once: sched_info_arrive(), kernel/sched/stats.h.
        let oneWait = Duration.milliseconds(300)
        let started = Instant.now()
        while ThreadSchedule.read(id, thread: id)?.runDelay ?? .zero < oneWait * 2 {
            try #require(Instant.now() < started + .seconds(60), "a fourth of a CPU")
            poll(nil, 0, 1)
        }
        let clock = WorkClock()
        let began = Instant.now()
        #expect(clock.now() >= began)
        clock.follow(id)
        #expect(clock.now() + oneWait >= began, "what it waited before does not count")
        while clock.now() + .milliseconds(50) > Instant.now() {
            try #require(Instant.now() < began + .seconds(60), "a fourth of a CPU")
            poll(nil, 0, 1)
        }
        let before = clock.now()
        clock.leave()
        #expect(clock.now() + oneWait >= before && clock.now() + .milliseconds(50) <= Instant.now())
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
                try #require(Instant.now() < began + .seconds(60), "a process that sleeps")
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
