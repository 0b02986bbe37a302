// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Waits for several files, signals and servers", .reapsChildren)
struct WaitEventTests {
    @Test(
        "each of the first eight of several files is described like a single one",
        arguments: ["poll-several", "select-several", "epoll-several"])
    func several(how: String) throws {
        let address = #"127\.0\.0\.1:\d+"#
        let files = [
            #"\d+ \(eventfd\)"#,
            #"\d+ \(TCP \#(address) → \#(address), ESTABLISHED, nothing to read, other end in pid \d+ "kid"\)"#,
            #"\d+ \(Unix socket, other end in pid \d+ "kid", nothing to read\)"#,
            #"\d+ \(UDP \#(address) → \#(address), nothing to read\)"#,
            #"\d+ \(TCP \#(address), LISTEN, no connection to accept\)"#,
            #"\d+ \(TCP \#(address) → \#(address), SYN_SENT\)"#,
            #"\d+ \(TCP \#(address) → \#(address), ESTABLISHED, \d+ bytes to read, other end in pid \d+ "kid"\)"#,
            #"\d+ \(TCP \#(address) → \#(address), ESTABLISHED, \d+ bytes not acknowledged, other end in pid \d+ "kid"\)"#,
        ]
        let kinds = try files.map { try Regex($0) }
        // Descriptor sets have their own order, and omit a different file.
        let head = how == "epoll-several" ? #/^fd \d+: epoll of 9 fds: /# : #/^9 fds: /#
        func shown(_ text: String) -> [Substring] {
            guard text.firstMatch(of: head) != nil, text.hasSuffix(", …") else { return [] }
            return text.matches(of: #/\d+ \([^)]*\)/#).map(\.output)
        }
        func isWhole(_ text: String) -> Bool {
            let shown = shown(text)
            return shown.count == 8 && shown.allSatisfy { file in kinds.contains { file.wholeMatch(of: $0) != nil } }
                && kinds.count { kind in shown.contains { $0.wholeMatch(of: kind) != nil } } >= kinds.count - 1
        }
        let subject = try WaitSubject(how)
        let chain = subject.chain { isWhole($0.waits[0].subject) }
        #expect(chain.map { isWhole($0.waits[0].subject) } == true, "\(chain?.waits[0].subject ?? "nothing")")
    }

    @Test("a wait for io_uring shows the files that its requests wait for")
    func ring() throws {
        let subject = try WaitSubject("ring")
        let pattern =
            #/^fd \d+: io_uring of 2 fds: \d+ \(Unix socket, other end in this process, nothing to read\), \d+ \(UDP \S+ → \S+, nothing to read\)$/#
        let chain = subject.chain { $0.waits[0].subject.contains(pattern) }
        guard let text = chain?.waits[0].subject, text != "" else {
            return print("not tested: io_uring is not permitted")
        }
        #expect(text.contains(pattern), "\(text)")
    }

    @Test(
        "a wait for a child's signal or its pidfd names the child",
        arguments: [
            ("sigsuspend", "SIGCHLD"), ("sigtimedwait", "SIGCHLD"), ("pause", "SIGCHLD"), ("signalfd", "signalfd"),
            ("pollsignalfd", "signalfd"), ("pidfd", "pidfd of pid"), ("waitpidfd", "child"),
        ])
    func childSignals(how: String, text: String) throws {
        let subject = try WaitSubject(how)
        // Its name is set before it sleeps.
        let chain = try #require(
            subject.chain {
                $0.waits.count == 2 && $0.waits[0].holder?.name == "kid" && $0.waits[0].holder?.state == .sleeping
            })
        #expect(chain.waits[0].subject.contains(text), "\(chain.waits[0].subject)")
        #expect([.child, .anyChild].contains(chain.waits[0].holder?.relation))
        #expect(chain.waits[0].holder?.state == .sleeping)
        #expect(chain.waits[0].holder?.process == chain.waits[1].process)
    }

    @Test("a wait for signals that no child sends names no child", arguments: ["deaf-pause", "deaf-sigtimedwait"])
    func otherSignals(how: String) throws {
        let subject = try WaitSubject(how)
        // The child signals that the parent is about to wait.
        #expect(
            eventually {
                WaitLook.syscall(.init(process: subject.pid, thread: subject.pid)).map(Self.isSignalWait) ?? false
            })
        let syscall = try #require(WaitLook.syscall(.init(process: subject.pid, thread: subject.pid)))
        let look = WaitLook(budget: .seconds(10)) { Procfs.processes() }
        let chain = look.chain(process: subject.pid, thread: subject.pid, syscall: syscall)
        // Only the signals of a set are known.
        #expect(chain?.waits.map(\.subject) == (how == "deaf-pause" ? nil : ["SIGUSR1"]))
        #expect(chain?.waits.first?.holder == nil)
    }

    private static func isSignalWait(_ text: String) -> Bool {
        BlockedCall(parsing: text).map { [WD_CALL_PAUSE, WD_CALL_SIGNAL].contains($0.kind) } ?? false
    }

    @Test("of many connections, the process's own comes before those of its clients")
    func served() throws {
        let subject = try WaitSubject("served")
        let pattern = #/fd \d+: epoll of 11 fds: .*, …/#
        let chain = subject.chain { $0.waits[0].subject.wholeMatch(of: pattern) != nil }
        let text = try #require(chain?.waits[0].subject)
        let ports = text.matches(of: #/\(TCP 127\.0\.0\.1:(\d+) → /#).map(\.output.1)
        #expect(ports.count == 8 && Set(ports.dropFirst()).count == 1 && ports.first != ports.last, "\(text)")
    }

    @Test("other threads are described if they wait for one file or for a lock with an owner, and the one that polls")
    func besides() throws {
        let subject = try WaitSubject("besides")
        var waits: [Wait] = []
        let isFound = eventually {
            let look = WaitLook(budget: .seconds(10)) { [subject.pid] }
            waits = look.besides(subject.pid, of: subject.pid)
            return waits.count == 4 && waits.last?.subject.contains("epoll of 11 fds: ") == true
        }
        #expect(isFound, "\(waits)")
        #expect(waits.contains { $0.subject == "mutex" && $0.holder?.name == "holder" })
        #expect(waits.contains { $0.subject.hasSuffix(": eventfd") && $0.name == "reader" && $0.thread != subject.pid })
        #expect(waits.contains { $0.subject.contains(#/^fd \d+: UDP \S+ → \S+, nothing to read$/#) })
    }

    @Test("a path is read although the thread sleeps uninterruptibly, if it waits for a file server")
    func uninterruptible() throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "lookup") else { return }
        // After a signal, only an answer or a kill ends a FUSE request.
        let subject = try WaitSubject("call", fileSystem.file, "signalled")
        defer {
            fileSystem.end()
            withExtendedLifetime(subject) {}
        }
        #expect(eventually { ProcessStat.read(subject.pid)?.state == .uninterruptible })
        let text = "\(fileSystem.file) on fuse at \(fileSystem.directory)"
        let chain = try #require(subject.chain { $0.waits[0].subject == text })
        #expect(chain.waits[0].subject == text)
    }
}
