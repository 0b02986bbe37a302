// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("The reader of snapshots")
struct SnapshotReaderTests {
    private func code(_ builder: SnapshotBuilder) -> SnapshotFormatError.Code? {
        code(builder.bytes)
    }

    private func code(_ bytes: [UInt8]) -> SnapshotFormatError.Code? {
        do throws(SnapshotFormatError) {
            _ = try SnapshotReader.parse(bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("reads every kind of record")
    func complete() throws {
        let contents = try SnapshotReader.parse(SnapshotBuilder.complete.bytes)
        #expect(contents.process.id == 100)
        #expect(contents.process.startTime == 7)
        #expect(contents.process.method == .ptrace)
        #expect(contents.process.methodReason == nil)
        #expect(contents.mappings.count == 3)
        #expect(contents.mappings[1].isExecutable)
        #expect(contents.mappings[1].offset == 0x1000)
        #expect(contents.mappings[1].deviceMajor == 0xFE)
        #expect(contents.mappings[2].path == "[stack]")
        #expect(contents.mapping(at: 0x55d0_c000_1fff)?.start == 0x55d0_c000_1000)
        #expect(contents.mapping(at: 0x55d0_c000_2000) == nil)
        #expect(contents.threads.map(\.id) == [100, 101])
        let thread = contents.threads[1]
        #expect(thread.name == "worker" && thread.state == "S" && thread.waitChannel == "futex_wait")
        #expect(thread[.rax] == 1000 && thread[.rsp] == 1007 && thread[.rip] == 1016 && thread[.gsBase] == 1022)
        #expect(thread.runNanoseconds == 1 && thread.systemTicks == 7)
        #expect(thread.stack?.word(at: 0x7ffc_0000_1000) == 0x0807_0605_0403_0201)
        #expect(thread.stack?.word(at: 0x7ffc_0000_1004) == 0x0c0b_0a09_0807_0605)
        #expect(thread.stack?.word(at: 0x7ffc_0000_1005) == nil)
        #expect(thread.stack?.word(at: 0x7ffc_0000_0fff) == nil)
        #expect(thread.stack?.word(at: .max) == nil)
        #expect(contents.threads[0].stack == nil)
        #expect(contents.vdso?.bytes == [0x7F])
        #expect(contents.asynchronousContexts.map(\.resume) == [0x55d0_c000_1000])
        #expect(
            contents.modules == [SnapshotModule(start: 0x55d0_c000_0000, descriptor: 0, path: "/usr/bin/app")]
        )
    }

    @Test("skips unknown records")
    func unknown() throws {
        var builder = SnapshotBuilder()
        builder.record(99, [1, 2, 3])
        builder.process()
        builder.record(.max, [])
        #expect(try SnapshotReader.parse(builder.bytes).process.id == 100)
    }

    @Test("rejects anything but a snapshot")
    func header() {
        #expect(code([]) == .notASnapshot)
        #expect(code([UInt8](repeating: 0, count: 15)) == .notASnapshot)
        #expect(code(SnapshotBuilder(magic: 1)) == .notASnapshot)
        #expect(code(SnapshotBuilder(version: 2)) == .notASnapshot)
        #expect(code(SnapshotBuilder()) == .malformed, "no process record")
    }

    @Test("never reads beyond the end, wherever a snapshot is truncated")
    func truncated() {
        let bytes = SnapshotBuilder.complete.bytes
        for length in 0..<bytes.count {
            let code = code(Array(bytes.prefix(length)))
            // Cut between two records, a shorter snapshot is complete.
            #expect(code == nil || code == .truncated || code == .notASnapshot || code == .malformed)
        }
    }

    @Test("rejects lengths that reach beyond the end", arguments: [4, 1 << 40, UInt64(Int64.max), .max - 7, .max])
    func lengths(length: UInt64) {
        var builder = SnapshotBuilder()
        builder.process()
        builder.record(2, [], length: length)
        #expect(code(builder) == .truncated)
    }

    @Test("rejects records that are too short for their kind", arguments: [3, 4, 5, 7])
    func short(kind: UInt32) {
        var builder = SnapshotBuilder()
        builder.process()
        builder.record(kind, [UInt8](repeating: 1, count: 15))
        #expect(code(builder) == .truncated)
    }

    @Test("rejects counts above their limits")
    func counts() {
        for kind in [1, 2, 5, 6] as [UInt32] {
            var builder = SnapshotBuilder.complete
            if kind == 1 { builder.process() } else { builder.record(kind, [UInt8](repeating: 0, count: 24)) }
            #expect(code(builder) == .tooMany, "kind \(kind)")
        }
        var threads = SnapshotBuilder()
        for id in 1...4097 {
            threads.thread(Int32(id))
        }
        #expect(code(threads) == .tooMany)
        var modules = SnapshotBuilder()
        for _ in 0...1024 {
            modules.module(start: 0, descriptor: 0, path: "")
        }
        #expect(code(modules) == .tooMany)
        var contexts = SnapshotBuilder()
        contexts.record(6, [UInt8](repeating: 0, count: 24 * ((1 << 16) + 1)))
        #expect(code(contexts) == .tooMany)
        #expect(code([UInt8](repeating: 0, count: (64 << 20) + 1)) == .tooLarge)
    }

    @Test("rejects values that make no sense")
    func malformed() {
        func with(_ change: (inout SnapshotBuilder) -> Void) -> SnapshotFormatError.Code? {
            var builder = SnapshotBuilder.complete
            change(&builder)
            return code(builder)
        }
        #expect(with { $0.thread(0) } == .malformed)
        #expect(with { $0.thread(-5) } == .malformed)
        #expect(with { $0.thread(102, source: 3) } == .malformed)
        #expect(with { $0.thread(101) } == .malformed, "twice the same thread")
        #expect(with { $0.memory(4, address: 0, owner: 555, bytes: []) } == .malformed, "stack of no thread")
        let another = { (builder: inout SnapshotBuilder) in builder.memory(4, address: 0, owner: 101, bytes: []) }
        #expect(with { another(&$0) } == nil, "a handler has a stack, and what it interrupted")
        #expect(
            with {
                another(&$0)
                another(&$0)
            } == .tooMany, "third stack of a thread")
        #expect(with { $0.memory(4, address: 0, owner: 1 << 32, bytes: []) } == .malformed)
        #expect(with { $0.memory(4, address: .max - 3, owner: 100, bytes: [1, 2, 3, 4]) } == .malformed)
        #expect(with { $0.module(start: 0, descriptor: 1024, path: "") } == .malformed)
        #expect(with { $0.module(start: 0, descriptor: 0, path: "/a", length: 3) } == .truncated)
        var contexts = SnapshotBuilder()
        contexts.record(6, [UInt8](repeating: 0, count: 25))
        #expect(code(contexts) == .truncated)
    }

    @Test(
        "rejects process records that break the format",
        arguments: ["", "PID=100", "PID=x\nMETHOD=ptrace", "PID=-1\nMETHOD=ptrace", "PID=1\nMETHOD=magic", "PID"]
    )
    func process(lines: String) {
        var builder = SnapshotBuilder()
        builder.process(lines)
        #expect(code(builder) == .malformed)
    }

    @Test(
        "rejects mappings that break the format",
        arguments: [
            "nonsense", "1000-2000", "2000-1000 r-xp 0 00:00 0", "1000-1000 r-xp 0 00:00 0",
            "1000-2000 r-xp 0 00:00 0\n1800-3000 r-xp 0 00:00 0", "11111111111111111-2 r-xp 0 00:00 0",
            "1000-2000 r-xp 0 100000000:00 0", "1000-2000 r-xp 0 00:00 x",
        ]
    )
    func mappings(text: String) {
        var builder = SnapshotBuilder()
        builder.process()
        builder.record(2, Array(text.utf8))
        #expect(code(builder) == .malformed)
    }

    @Test("reads texts that fill their field, and texts that are not UTF-8")
    func texts() throws {
        var builder = SnapshotBuilder()
        builder.process("PID=100\nMETHOD=procfs\nREASON=because\nCOMM=\u{FFFD}=\n")
        builder.thread(100, name: [UInt8](repeating: 0xFF, count: 20))
        let contents = try SnapshotReader.parse(builder.bytes)
        #expect(contents.threads[0].name == String(repeating: "\u{FFFD}", count: 16))
        #expect(contents.process.methodReason == "because")
        #expect(contents.process.name == "\u{FFFD}=")
    }

    @Test("survives any change of a few bytes", arguments: 0..<8)
    func mutations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let original = SnapshotBuilder.complete.bytes
        for _ in 0..<2_000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[index] =
                    [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &generator)].randomElement(
                        using: &generator
                    ) ?? 0
            }
            if Bool.random(using: &generator) {
                bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
            }
            guard let contents = try? SnapshotReader.parse(bytes) else { continue }
            #expect(contents.threads.count <= 2)
            _ = CapturedProcess(contents, descriptors: [], note: "")
        }
    }

    @Test("reads from a file, and rejects anything but a regular file")
    func descriptors() throws {
        let path = try temporaryDirectory() + "/subject"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer { close(file) }
        let bytes = SnapshotBuilder.complete.bytes
        #expect(write(file, bytes, bytes.count) == bytes.count)
        #expect(try SnapshotReader.read(descriptor: file).threads.count == 2)
        var ends: [Int32] = [-1, -1]
        #expect(wd_pipe(&ends, 0) == 0)
        defer {
            close(ends[0])
            close(ends[1])
        }
        #expect { try SnapshotReader.read(descriptor: ends[0]) } throws: { error in
            (error as? SnapshotFormatError)?.code == .unreadable
        }
        #expect { try SnapshotReader.read(descriptor: -1) } throws: { error in
            (error as? SnapshotFormatError)?.code == .unreadable
        }
    }
}
