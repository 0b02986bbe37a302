// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("The addresses on a stack, without any file")
struct StackWordsTests {
    private static let code: UInt64 = 0x55d0_c000_1000
    private static let stack: UInt64 = 0x7ffc_0000_1000

    private var mappings: [SnapshotMapping] {
        get throws { try SnapshotReader.parse(SnapshotBuilder.complete.bytes).mappings }
    }

    /// A thread that runs at the start of the code, with these words from below its stack pointer on.
    private func thread(
        _ words: [UInt64], pointer: UInt64 = stack, framePointer: UInt64 = 0,
        source: SnapshotThread.RegisterSource = .ptrace
    ) throws -> SnapshotThread {
        var thread = try #require(try SnapshotReader.parse(SnapshotBuilder.complete.bytes).threads.first)
        thread.registerSource = source
        thread.registers[SnapshotRegister.rip.rawValue] = Self.code
        thread.registers[SnapshotRegister.rsp.rawValue] = pointer
        thread.registers[SnapshotRegister.rbp.rawValue] = framePointer
        thread.stack = SnapshotMemory(address: Self.stack, bytes: words.flatMap { SnapshotBuilder.bytes(of: $0) }[...])
        return thread
    }

    private func frames(_ thread: SnapshotThread) throws -> [StackWords.Found] {
        var words = StackWords(try mappings)
        return words.frames(of: thread)
    }

    @Test("words that point after code are kept in order, and all others are dropped")
    func scan() throws {
        let words = [
            7, Self.code + 0x10, Self.stack, Self.code, Self.code + 1, Self.code + 0x1000, Self.code + 0x1001, .max, 0,
        ]
        let found = try frames(try thread(words))
        #expect(found.map(\.address) == [Self.code, Self.code + 0x10, Self.code + 1, Self.code + 0x1000])
        #expect(found.map(\.trust) == [.registers, .scan, .scan, .scan])
    }

    @Test("words below the stack pointer are dropped, because their functions have returned")
    func pointer() throws {
        let words = [Self.code + 1, Self.code + 2, Self.code + 3]
        let found = try frames(try thread(words, pointer: Self.stack + 8))
        #expect(found.dropFirst().map(\.address) == [Self.code + 2, Self.code + 3])
    }

    @Test("the chain of frame pointers marks the addresses that are certain")
    func framePointers() throws {
        let words = [
            Self.code + 1, Self.stack + 32, Self.code + 2, Self.code + 3, 0, Self.code + 4, Self.code + 5,
        ]
        let found = try frames(try thread(words, framePointer: Self.stack + 8))
        #expect(found.dropFirst().map(\.trust) == [.scan, .framePointer, .scan, .framePointer, .scan])
        #expect(try frames(try thread(words, framePointer: 3)).dropFirst().allSatisfy { $0.trust == .scan })
        // A chain that leads to itself ends.
        let loop = [Self.stack, Self.code + 1]
        #expect(try frames(try thread(loop, framePointer: Self.stack)).map(\.trust) == [.registers, .framePointer])
    }

    @Test("a thread without registers has no addresses; one known from its system call has no chain")
    func registers() throws {
        let words = [Self.stack + 16, Self.code + 1]
        #expect(try frames(try thread(words, source: .none)).isEmpty)
        let seen = try frames(try thread(words, framePointer: Self.stack, source: .syscallFile))
        #expect(seen.map(\.trust) == [.registers, .scan])
    }

    @Test("a thread has at most 512 addresses, and reports that there are more")
    func limit() throws {
        var words = StackWords(try mappings)
        let most = Array(repeating: Self.code + 1, count: StackWords.threadLimit - 1)
        #expect(words.frames(of: try thread(most)).count == StackWords.threadLimit)
        #expect(words.notes == [])
        #expect(words.frames(of: try thread(most + [Self.code + 2])).count == StackWords.threadLimit)
        #expect(words.notes == ["Only the innermost addresses are shown."])
    }
}
