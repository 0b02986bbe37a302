// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogCapture

@Suite("The threads that capture other processes")
struct SpareThreadTests {
    /// Runs a closure on a thread; returns that thread.
    private func run(_ threads: SpareThreads, isUsable: Bool = true) throws -> pthread_t {
        let thread = Mutex<pthread_t?>(nil)
        #expect(
            try threads.run(until: .now() + patience) { arena in
                thread.withLock { $0 = pthread_self() }
                return isUsable && arena != nil
            })
        let found = thread.withLock { $0 }
        return try #require(found)
    }

    @Test("wait for the next capture only while some wait, and end otherwise")
    func keeping() throws {
        let threads = SpareThreads(.inherited)
        _ = try run(threads)
        #expect(threads.count == 0)
        threads.keep(true)
        let first = try run(threads)
        #expect(threads.count == 1)
        #expect(try run(threads) == first)
        threads.keep(false)
        #expect(threads.count == 0)
        _ = try run(threads)
        #expect(threads.count == 0)
    }

    @Test("end after a capture that leaves threads of a process stopped until then")
    func spent() throws {
        let threads = SpareThreads(.inherited)
        threads.keep(true)
        _ = try run(threads, isUsable: false)
        #expect(threads.count == 0)
    }

    @Test("are not waited for beyond the deadline, and serve again once they have returned")
    func late() throws {
        let threads = SpareThreads(.inherited)
        threads.keep(true)
        let door = PosixSemaphore()
        #expect(
            try !threads.run(until: .now()) { _ in
                door.wait()
                return true
            })
        _ = try run(threads)
        #expect(threads.count == 1)
        door.signal()
        try eventually("the late one") { threads.count == 2 }
        threads.keep(false)
        #expect(threads.count == 0)
    }

    @Test("let go of what a capture retains before they wait")
    func release() throws {
        final class Retained: Sendable {}
        let threads = SpareThreads(.inherited)
        threads.keep(true)
        weak var retained: Retained?
        do {
            let object = Retained()
            retained = object
            _ = try threads.run(until: .now() + patience) { _ in withExtendedLifetime(object) { true } }
        }
        #expect(threads.count == 1)
        // The thread says that it is done just before.
        try eventually("its release") { retained == nil }
        threads.keep(false)
    }
}
