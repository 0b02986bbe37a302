// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

extension ScriptedSource {
    fileprivate func sockets() -> [OwnedDescriptor] { sockets(of: .copier) }

    /// Serves the requested copiers on threads of this process; returns their number.
    @discardableResult
    fileprivate func serve() throws -> Int {
        let sockets = sockets()
        for socket in sockets {
            try WorkerThread.start {
                var request = wd_copy_request()
                var file: Int32 = -1
                while wd_copy_receive(socket.number, &request, &file) == 0,
                    wd_copy_answer(socket.number, &request, file) == 0
                {}
            }
            .detach()
        }
        return sockets.count
    }
}

@Suite("Copiers", .reapsChildren)
struct CopiersTests {
    private static let tenant = Tenant(app: "app", user: 1)
    private static let otherUser = Tenant(app: "app", user: 2)

    private let source: ScriptedSource

    init() throws { source = try ScriptedSource() }

    private func copiers(patience limit: Duration = patience) -> Copiers { Copiers(source.end, patience: limit) }

    private func read(_ copying: Copying, _ bytes: [UInt8], file: Int32 = -1) -> (bytes: [UInt8], errno: Int32) {
        var buffer = [UInt8](repeating: 0, count: bytes.count)
        let (length, error) = bytes.withUnsafeBytes { memory in
            let start = UnsafeMutableRawPointer(mutating: memory.baseAddress)
            let halves = [
                iovec(iov_base: start, iov_len: bytes.count / 2),
                iovec(iov_base: start.map { $0 + bytes.count / 2 }, iov_len: bytes.count - bytes.count / 2),
            ]
            let length = copying.read(getpid(), file: file, halves, count: 2, into: &buffer)
            return (length, length < 0 ? errno : 0)
        }
        return (Array(buffer.prefix(max(0, length))), error)
    }

    // MARK: - Answers

    @Test("copy ranges of memory, with process_vm_readv or from a passed file")
    func memory() throws {
        let copiers = copiers()
        try source.serve()
        let copying = copiers.copying(for: Self.tenant)
        let secret = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(read(copying, secret).bytes == secret)
        let file = try OwnedDescriptor(opening: "/proc/self/mem", flags: O_RDONLY)
        #expect(read(copying, secret, file: file.number).bytes == secret)
        #expect(copying.memory(getpid(), at: 4_096, count: 8) == nil, "nothing is mapped there")
        #expect(copiers.lostCount == 0 && !copying.isCareful)
    }

    @Test("are forked ahead for the next capture, but not because of a brief use", arguments: [true, false])
    func spare(isBrief: Bool) throws {
        let copiers = copiers()
        #expect(try source.serve() == 1)
        let copying = copiers.copying(for: Self.tenant, isBrief: isBrief)
        #expect(read(copying, [1, 2, 3]).bytes == [1, 2, 3])
        #expect(try source.serve() == (isBrief ? 0 : 1))
        copying.release()
        #expect(read(copiers.copying(for: Self.tenant, isBrief: true), [4, 5]).bytes == [4, 5])
        #expect(try source.serve() == 0, "the copier is used again")
    }

    @Test("copy arguments and environments from /proc")
    func strings() throws {
        let copiers = copiers()
        try source.serve()
        let copying = copiers.copying(for: Self.tenant)
        #expect(copying.arguments(of: getpid()) == ProcessFacts.arguments(getpid()))
        #expect(copying.arguments(of: getpid(), limit: 3) == ProcessFacts.arguments(getpid(), limit: 3))
        #expect(copying.environment(of: getpid())?.entries == ProcessFacts.environment(getpid())?.entries)
        #expect(copying.environment(of: Int32.max) == nil)
    }

    @Test("reject a request that is too long or has too many ranges")
    func limits() throws {
        let copiers = copiers()
        try source.serve()
        let copying = copiers.copying(for: Self.tenant)
        let longest = WD_COPY_BYTES
        let memory = [UInt8](repeating: 1, count: longest + 1)
        #expect(read(copying, Array(memory.dropLast())).bytes.count == longest)
        #expect(read(copying, memory).errno == EINVAL)
        let ranges = [iovec](repeating: iovec(), count: WD_COPY_RANGES + 1)
        var byte: UInt8 = 0
        let length = copying.read(getpid(), file: -1, ranges, count: ranges.count, into: &byte)
        let error = errno
        #expect(length == -1 && error == EINVAL)
        #expect(read(copying, [1, 2, 3]).bytes == [1, 2, 3], "the copier lives on")
    }

    // MARK: - No answers

    @Test("copiers that do not answer count against their tenant until they exit, and are replaced")
    func stuck() throws {
        let copiers = copiers(patience: .milliseconds(10))
        var stuck = source.sockets()
        #expect(stuck.count == 1, "nobody has read yet")
        let copying = copiers.copying(for: Self.tenant)
        for round in 1...2 {
            #expect(read(copying, [1]).errno == ETIMEDOUT)
            #expect(copiers.lostCount == round)
            stuck += source.sockets()
        }
        #expect(read(copying, [1]).errno == EBUSY, "it asks nobody anymore")
        #expect(
            copiers.refusal(of: Self.tenant)?.words("capture") == "2 earlier captures of this app have not returned")
        #expect(copiers.copying(for: Tenant(app: "other", user: 1)).isCareful)
        // Another user's app with the same name is served by an existing copier.
        let other = copiers.copying(for: Self.otherUser)
        #expect(copiers.refusal(of: Self.otherUser) == nil && !other.isCareful)
        stuck.removeFirst(2)
        #expect(copiers.lostCount == 0 && copiers.refusal(of: Self.tenant) == nil, "they have ended")
    }

    @Test("copiers that die give no answer and do not count; the next read gets a new one")
    func dead() throws {
        let copiers = copiers()
        let copying = copiers.copying(for: Self.tenant)
        let socket = try #require(source.sockets().first)
        try WorkerThread.start {
            var request = wd_copy_request()
            var file: Int32 = -1
            _ = wd_copy_receive(socket.number, &request, &file)
            // The kernel killing it has the same effect.
            shutdown(socket.number, Int32(SHUT_RDWR))
        }
        .detach()
        #expect(read(copying, [1]).errno == ETIMEDOUT)
        #expect(copiers.lostCount == 0)
        try source.serve()
        #expect(read(copying, [1]).bytes == [1])
    }

    @Test("copiers that died while idle are not used")
    func deadSpare() throws {
        let copiers = copiers(patience: .milliseconds(10))
        #expect(source.sockets().count == 1)
        #expect(read(copiers.copying(for: Self.tenant), [1]).errno == ETIMEDOUT)
        #expect(copiers.lostCount == 1, "a new one was asked, which nobody serves")
    }

    @Test("are kept for the next capture, at least one and at most two")
    func spares() throws {
        let copiers = copiers()
        try source.serve()
        for _ in 0..<3 {
            let all = (0..<4).map { _ in copiers.copying(for: Self.tenant) }
            for copying in all {
                try source.serve()
                _ = copying.arguments(of: getpid())
                try source.serve()
            }
        }
        let copying = copiers.copying(for: Self.tenant)
        #expect(!copying.arguments(of: getpid()).isEmpty)
        #expect(source.sockets().isEmpty, "one of those before serves it")
    }

    @Test("stay while others are in use, so that a burst of launches needs few forks; then two stay")
    func burst() throws {
        let copiers = copiers()
        try source.serve()
        /// Reads with a copier each; returns how many copiers were requested meanwhile.
        func read(_ all: [Copying]) throws -> Int {
            try all.map { copying in
                #expect(!copying.arguments(of: getpid()).isEmpty)
                return try source.serve()
            }
            .reduce(0, +)
        }
        func six() -> [Copying] { (0..<6).map { _ in copiers.copying(for: Self.tenant) } }
        let lasting = copiers.copying(for: Self.tenant)
        #expect(try read([lasting]) == 1, "a spare one")
        #expect(try read(six()) == 6)
        #expect(try read(six()) == 0)
        lasting.release()
        #expect(try read(six()) >= 4)
    }

    @Test("stay between captures while a burst is expected, and two stay after it")
    func expectedBurst() throws {
        let copiers = copiers()
        try source.serve()
        /// Reads with six copiers at once; returns how many were requested.
        func readWithSix() throws -> Int {
            let all = (0..<6).map { _ in copiers.copying(for: Self.tenant) }
            return try all.reduce(0) { count, copying in
                #expect(!copying.arguments(of: getpid()).isEmpty)
                return try count + source.serve()
            }
        }
        var burst: CopierBurst? = copiers.keepBurst()
        _ = try readWithSix()
        #expect(try readWithSix() == 0)
        withExtendedLifetime(burst) {}
        burst = nil
        #expect(try readWithSix() >= 4)
    }

    @Test("require a living source; the thread itself reads only if there never was one")
    func withoutSource() throws {
        var scripted: ScriptedSource? = try ScriptedSource()
        let copiers = Copiers(try #require(scripted).end)
        scripted = nil
        let copying = copiers.copying(for: Self.tenant)
        #expect(!copying.isDirect)
        #expect(copying.environment(of: getpid()) == nil)
        let direct = Copiers(nil).copying(for: Self.tenant)
        #expect(direct.isDirect && direct.environment(of: getpid()) != nil)
        #expect(direct.arguments(of: getpid()) == ProcessFacts.arguments(getpid()))
    }
}
