// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("A snapshot of a Go program", .reapsChildren)
struct GoroutineCaptureTests {
    /// A truth or a falsehood about a program's goroutines.
    enum Lie: String, CaseIterable, Sendable {
        case none, laterLayout, oneForAll, giantList, giantReason, noReasons, strangeText, unmapped, wildStack, noSelf
        case unknownStatus, noList, strangersPoll, giantDescriptor, unmappedPoll
    }

    private func goroutines(of lie: Lie, _ options: SnapshotOptions = .patient) throws -> SnapshotGoroutines {
        let program = try Compiler.shared.executable(gopherSource, name: "gopher")
        let subject = try Subject(program, ["\(Lie.allCases.firstIndex(of: lie) ?? 0)"])
        while try subject.line() != "ready" {}
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, options)
        #expect(snapshot.timings.frozen < .seconds(1))
        return try #require(try snapshot.contents().goroutines)
    }

    @Test("has its goroutines, with their stacks and Go's words for their waits", arguments: [Lie.none, .laterLayout])
    func honest(lie: Lie) throws {
        for isStopped in [true, false] {
            var options = SnapshotOptions.patient
            if !isStopped { options.method = .procfsRegisters }
            let found = try goroutines(of: lie, options)
            #expect(found.version == "go1.99")
            #expect(found.reading == .complete)
            #expect(found.count == 3 && found.activeCount == 1)
            #expect(found.goroutines.map(\.id) == [1, 2, 4])
            #expect(found.goroutines.map(\.status) == [.waiting, .waiting, .runnable])
            #expect(found.goroutines.map(\.reason) == ["IO wait", "", ""])
            #expect(found.goroutines.map(\.descriptor) == [9, nil, nil])
            let main = try #require(found.goroutines.first)
            #expect(main.programCounter == 0x4711 && main.thread == nil && main.waitingSince == 77)
            #expect(main.stack?.address == main.stackPointer && main.stack?.bytes.count == 48)
            #expect(main.stack?.word(at: main.framePointer) == 0x4242)
        }
    }

    @Test("is neither delayed nor confused by a program that only claims to be one of Go", arguments: Lie.allCases)
    func liar(lie: Lie) throws {
        let found = try goroutines(of: lie)
        switch lie {
        case .none, .laterLayout: #expect(found.reading == .complete)
        case .oneForAll:
            #expect(found.reading == .complete)
            #expect(found.count == 1_000 && found.goroutines.count == 256)
        case .giantList:
            #expect(found.reading == .cut)
            #expect(found.goroutines.count == 3)
        case .giantReason, .noReasons: #expect(found.goroutines.first?.reason == "")
        case .strangeText: #expect(found.goroutines.first?.reason == "IO?wait")
        case .unmapped, .noSelf:
            #expect(found.reading == .cut)
            #expect(found.goroutines.map(\.id) == [1])
        case .wildStack: #expect(found.goroutines.map { $0.stack == nil } == [true, false, false])
        case .unknownStatus: #expect(found.goroutines.map(\.id) == [1, 4])
        case .noList:
            #expect(found.reading == .unknown)
            #expect(found.goroutines.isEmpty)
        case .strangersPoll, .giantDescriptor, .unmappedPoll:
            #expect(found.reading == .complete)
            #expect(found.goroutines.map(\.descriptor) == [nil, nil, nil])
        }
    }

    @Test("has no goroutines for a program that is not one of Go")
    func none() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        #expect(try Snapshot.take(of: subject.process, .patient).contents().goroutines == nil)
    }

    // MARK: Hostile snapshots

    private static func goroutine(status: UInt32 = 4, stackPointer: UInt64 = 0x1000, stack: [UInt8] = []) -> [UInt8] {
        let head = SnapshotBuilder.words(1, 0x4711, stackPointer, 0x1010, 0x1000, 0x2000, 0)
        return head + SnapshotBuilder.bytes(of: Int32(0)) + SnapshotBuilder.bytes(of: status)
            + [UInt8](repeating: 0, count: 40) + stack
    }

    private static func snapshot(reading: UInt32 = 0, _ goroutines: [[UInt8]]) -> [UInt8] {
        var builder = SnapshotBuilder()
        builder.process()
        builder.record(
            13,
            Array("go1.99".utf8) + [UInt8](repeating: 0, count: 26) + SnapshotBuilder.bytes(of: reading)
                + [UInt8](repeating: 0, count: 12))
        for goroutine in goroutines { builder.record(14, goroutine) }
        return builder.bytes
    }

    @Test("is refused if its records of goroutines are malformed")
    func malformed() throws {
        let one = Self.goroutine(stack: [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(try SnapshotReader.parse(Self.snapshot([one])).goroutines?.goroutines.first?.stack?.bytes.count == 8)
        var orphan = SnapshotBuilder()
        orphan.process()
        orphan.record(14, one)
        let hostile = [
            Self.snapshot(reading: 3, []), Self.snapshot([Array(one.prefix(103))]),
            Self.snapshot([Self.goroutine(status: 5)]), Self.snapshot([Self.goroutine(stackPointer: .max, stack: one)]),
            Self.snapshot(Array(repeating: one, count: 257)), orphan.bytes,
        ]
        for bytes in hostile {
            #expect(throws: SnapshotFormatError.self) { try SnapshotReader.parse(bytes) }
        }
    }
}

/// A C program with the variables of a Go program, one of which may be false.
private let gopherSource = #"""
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    struct text { const char *bytes; uint64_t length; };

    _Alignas(16) char info[64] = "\xff Go buildinf:\x08\x02";
    struct text reasons[4] = {{0, 0}, {"GC assist marking", 17}, {"IO wait", 7}, {"chan receive (nil chan)", 23}};
    struct { uint64_t *list, length, capacity; } goroutines;
    static uint64_t stack[8], poll[8];

    static uint64_t *goroutine(uint64_t id, uint32_t status, size_t shift) {
        uint64_t *g = calloc(1, 4096);
        g[0] = (uint64_t)(uintptr_t)stack;
        g[1] = (uint64_t)(uintptr_t)(stack + 8);
        g[7] = (uint64_t)(uintptr_t)(stack + 2);
        g[8] = 0x4711;
        g[9] = (uint64_t)(uintptr_t)g;
        g[shift == 0 ? 12 : 13] = (uint64_t)(uintptr_t)(stack + 3);
        g[18 + shift] = status;
        g[19 + shift] = id;
        g[21 + shift] = id == 1 ? 77 : 0;
        g[22 + shift] = id == 1 ? 2 : 0;
        return g;
    }

    int main(int count, char **arguments) {
        int lie = atoi(arguments[1]);
        size_t shift = lie == 1;
        memcpy(info + 32, "\x06go1.99", 7);
        stack[3] = 0x4242;
        uint64_t **list = aligned_alloc(4096, 8192);
        memset(list, 0, 8192);
        list[0] = goroutine(1, 4, shift);
        list[1] = goroutine(2, 0x1004, shift);
        list[2] = goroutine(3, 6, shift);
        list[3] = goroutine(4, 1, shift);
        goroutines.list = (uint64_t *)list;
        goroutines.length = 4;
        goroutines.capacity = 8;
        poll[1] = 9;
        poll[3 + shift] = (uint64_t)(uintptr_t)list[0];
        stack[5] = (uint64_t)(uintptr_t)(poll + 3 + shift);
        stack[6] = (uint64_t)(uintptr_t)poll;
        switch (lie) {
            case 2:
                for (int i = 0; i < 1000; i++) list[i] = list[0];
                goroutines.length = goroutines.capacity = 1000;
                break;
            case 3: goroutines.length = goroutines.capacity = 1 << 24; break;
            case 4: reasons[3].length = 1 << 30; list[0][22] = 3; break;
            case 5: reasons[1].length = 16; break;
            case 6: reasons[3] = (struct text){"IO\nwait", 7}; list[0][22] = 3; break;
            case 7: list[1] = (uint64_t *)16; break;
            case 8: list[0][7] = UINT64_MAX - 8; break;
            case 9: list[1][9] = 0; break;
            case 10: list[1][18] = 77; break;
            case 11: goroutines.length = 0; break;
            case 12: poll[3] = (uint64_t)(uintptr_t)list[1]; break;
            case 13: poll[1] = UINT64_MAX; break;
            case 14: stack[5] = 4096 + 24; stack[6] = 4096; break;
        }
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    }
    """#
