// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogPolicy

@testable import WatchdogLinux

@Suite("What a blocked thread waits for")
struct WaitLookTests {
    // MARK: - Locks in memory

    @Test(
        "a lock is named with the thread that holds it",
        arguments: [
            ("normal", "mutex"), ("recursive", "recursive mutex"), ("errorcheck", "error-checking mutex"),
            ("robust", "robust mutex"), ("inherit", "priority-inheritance mutex"), ("writer", "read-write lock"),
        ]
    )
    func holder(how: String, object: String) throws {
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits.count == 2 && $0.waits[0].holder?.name == "holder" })
        #expect(chain.waits[0].subject == object)
        let holder = try #require(chain.waits[0].holder)
        #expect(holder.relation == .holds && holder.process == subject.pid && holder.thread != subject.pid)
        #expect(chain.waits[0].sources.contains { $0.hasPrefix("process_vm_readv(2)") })
        // The nearest lookalike of a deadlock: the holder is only slow.
        #expect(chain.cycleStart == nil)
        #expect(chain.waits[1].holder == nil)
        #expect(chain.waits[1].thread == holder.thread)
    }

    @Test("two threads that wait for each other's mutex are a deadlock")
    func deadlock() throws {
        let subject = try WaitSubject("deadlock")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        #expect(chain.cycleStart == 0)
        #expect(chain.waits.count == 2)
        #expect(chain.waits[1].holder?.thread == subject.pid)
    }

    @Test("a mutex taken twice by one thread is a deadlock of one")
    func deadlockOfOne() throws {
        let subject = try WaitSubject("self")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        #expect(chain.waits.count == 1 && chain.cycleStart == 0)
        #expect(chain.waits[0].holder?.thread == subject.pid)
    }

    @Test("what names no holder is given none", arguments: ["semaphore", "condition", "readers"])
    func noHolder(how: String) throws {
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits[0].subject.hasPrefix("word at 0x") })
        #expect(chain.waits.count == 1)
        #expect(chain.waits[0].holder == nil)
        #expect(chain.cycleStart == nil)
    }

    @Test("who joins a thread waits for its end")
    func join() throws {
        let subject = try WaitSubject("join")
        let chain = try #require(subject.chain { $0.waits[0].holder != nil })
        #expect(chain.waits[0].holder?.relation == .ends)
        #expect(chain.waits[0].holder?.name == "holder")
    }

    // MARK: - Files

    @Test("a pipe is told with the process at its other end")
    func pipe() throws {
        let subject = try WaitSubject("pipe")
        let chain = try #require(subject.chain { $0.waits[0].subject.contains("\"kid\"") })
        #expect(chain.waits[0].subject.contains(#/^fd \d+: pipe, other end in pid \d+ "kid"$/#))
    }

    @Test("a FIFO is told by its path")
    func fifo() throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("fifo", "\(folder)/queue")
            let chain = try #require(subject.chain())
            #expect(chain.waits[0].subject.hasSuffix(": \(folder)/queue"))
        }
    }

    @Test("a FIFO that nobody else opens is told by the path as it was given")
    func opening() throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("opens", "\(folder)/queue")
            let chain = try #require(subject.chain())
            #expect(chain.waits[0].subject == "\(folder)/queue")
            #expect(chain.waits[0].holder == nil)
        }
    }

    @Test("sockets are told with both addresses and what is there to read")
    func sockets() throws {
        let address = #"127\.0\.0\.1:\d+"#
        for (how, pattern) in [
            ("tcp", "^fd \\d+: TCP \(address) → \(address), ESTABLISHED, nothing to read$"),
            ("accept", "^fd \\d+: TCP \(address), LISTEN, no connection to accept$"),
            ("udp", "^fd \\d+: UDP \(address) → \(address), nothing to read$"),
            ("unix", "^fd \\d+: Unix socket, other end in pid \\d+ \"kid\", nothing to read$"),
        ] {
            let subject = try WaitSubject(how)
            let regex = try Regex(pattern)
            let chain = subject.chain { $0.waits[0].subject.contains(regex) }
            #expect(chain?.waits[0].subject.contains(regex) == true, "\(how): \(chain?.waits[0].subject ?? "nothing")")
        }
    }

    @Test(
        "what is waited for is told by its kind",
        arguments: [
            ("eventfd", #"^fd \d+: eventfd$"#), ("epoll", #"^fd \d+: epoll of 2 fds: \d+, \d+$"#),
            ("poll", #"^fd \d+: eventfd$"#), ("select", #"^2 fds: \d+, \d+$"#),
        ]
    )
    func kinds(how: String, text: String) throws {
        let pattern = try Regex(text)
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits[0].subject.contains(pattern) })
        #expect(chain.waits[0].subject.contains(pattern), "\(chain.waits[0].subject)")
    }

    @Test("a file lock is told with its file and the process that has it", arguments: ["flock", "fcntl"])
    func fileLocks(how: String) throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject(how, "\(folder)/catalog")
            let chain = try #require(subject.chain { $0.waits[0].holder?.name == "kid" })
            #expect(chain.waits[0].subject.hasSuffix(": \(folder)/catalog"))
            #expect(chain.waits[0].holder?.relation == .locks)
            #expect(chain.waits[0].holder?.process != subject.pid)
            #expect(chain.cycleStart == nil)
            // The whole table says the same, with no help of the family.
            let look = WaitLook(budget: .seconds(10)) { [] }
            let alone = try #require(
                look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall))
            #expect(alone.waits[0].holder == chain.waits[0].holder)
            #expect(alone.waits[0].sources.contains("/proc/locks"))
        }
    }

    // MARK: - Processes

    @Test("a child that is waited for is told with its state")
    func children() throws {
        for (how, relation) in [("wait", Wait.Holder.Relation.child), ("waitany", .anyChild)] {
            let subject = try WaitSubject(how)
            let chain = try #require(subject.chain { $0.waits[0].holder?.name == "kid" && $0.waits.count == 2 })
            #expect(chain.waits[0].holder?.relation == relation)
            #expect(chain.waits[0].holder?.state == .sleeping)
        }
    }

    // MARK: - Honesty

    @Test("nothing is said of a sleep, of a thread that has gone on, and of a process that is gone")
    func nothing() throws {
        let subject = try WaitSubject("semaphore")
        let chain = try #require(subject.chain())
        let look = WaitLook(budget: .seconds(10)) { [] }
        let other = "0 0x7 0x0 0x0 0x0 0x0 0x0 0x0 0x0"
        #expect(look.chain(process: subject.pid, thread: subject.pid, syscall: other) == nil)
        #expect(look.chain(process: .max, thread: .max, syscall: chain.waits[0].syscall) == nil)
        let sleeper = try WaitSubject("sleep")
        let isAsleep = (0..<10_000).contains { _ in
            usleep(1000)
            return WaitChannel.read(sleeper.pid, thread: sleeper.pid)?.contains("nanosleep") ?? false
        }
        #expect(isAsleep)
        let syscall = try #require(WaitLook.syscall(.init(process: sleeper.pid, thread: sleeper.pid)))
        #expect(look.chain(process: sleeper.pid, thread: sleeper.pid, syscall: syscall) == nil)
    }

    @Test("without a budget the first wait is looked at and no other")
    func noBudget() throws {
        let subject = try WaitSubject("deadlock")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        let look = WaitLook(budget: .zero) { [] }
        let short = look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall)
        #expect(short?.waits.count == 1)
        #expect(short?.cycleStart == nil)
    }
}
