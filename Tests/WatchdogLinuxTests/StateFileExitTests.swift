// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("State files of a killed process")
struct StateFileExitTests {
    @Test("survive a writer that is killed at any time")
    func killedWriter() async throws {
        let path = "/tmp/watchdogd-test-killed-writer-\(getpid()).state"
        defer { unlink(path) }
        var seen: Set<[UInt8]> = []
        var rounds = 0
        while rounds < 12 || seen.count < 4 && rounds < 200 {
            rounds += 1
            // Writers die after different numbers of writes, however slow the machine is, and at different points.
            let (writes, turns) = (1 + rounds % 5, rounds * 37 % 201)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, writes = writes as Int, turns = turns as Int] in
                let file = try StateFile(creating: path, format: 1, capacity: 1 << 20)
                var thread = pthread_t()
                let context = Unmanaged.passRetained(file).toOpaque()
                pthread_create(
                    &thread, nil,
                    { context in
                        guard let context else { return nil }
                        let file = Unmanaged<StateFile>.fromOpaque(context).takeUnretainedValue()
                        var round: UInt8 = 0
                        while true {
                            round &+= 1
                            try? file.write(checkpoint: [UInt8](repeating: round, count: 20_000))
                            try? file.write(pulse: [UInt8](repeating: round, count: 400))
                        }
                    }, context)
                // Somewhere in the middle of a write.
                var last = 0
                while last < writes {
                    guard let contents = try? StateFile(opening: path, upTo: 1).contents(), contents.pulse != nil
                    else { continue }
                    last = Int(contents.checkpoint[0])
                }
                for _ in 0..<turns { sched_yield() }
                kill(getpid(), SIGKILL)
            }
            let contents = try StateFile(opening: path, upTo: 1).contents()
            #expect(contents.checkpoint.count == 20_000 && Set(contents.checkpoint).count == 1)
            if let pulse = contents.pulse { #expect(pulse == [UInt8](repeating: contents.checkpoint[0], count: 400)) }
            seen.insert(contents.checkpoint + (contents.pulse ?? []))
        }
        #expect(seen.count > 3)
    }
}
