// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("A snapshot of a Python program", .reapsChildren)
struct PythonCaptureTests {
    private static let interpreter = "/usr/bin/python3"

    private static let script = """
        import threading, time
        def wait_for_lock(lock):
            lock.acquire()
        def load_feed(depth):
            if depth: load_feed(depth - 1)
            else:
                print("ready", flush=True)
                time.sleep(1000)
        lock = threading.Lock()
        lock.acquire()
        threading.Thread(target=wait_for_lock, args=(lock,), daemon=True).start()
        load_feed(%DEPTH%)
        """

    private func subject(depth: Int = 3) throws -> Subject? {
        guard access(Self.interpreter, X_OK) == 0 else {
            print("skipped: there is no \(Self.interpreter)")
            return nil
        }
        let script = Self.script.split(separator: "%DEPTH%").joined(separator: "\(depth)")
        let subject = try Subject(Self.interpreter, ["-c", "import sys; sys.setrecursionlimit(5000)\n" + script])
        while try subject.line() != "ready" {}
        try eventually("the other thread's wait for the lock") { isWaitingForLock(subject.process) }
        // The first thread may have waited for the interpreter's own lock until then.
        try subject.waitUntilAsleep()
        return subject
    }

    /// Whether a thread besides the first one waits for a futex without a time limit; a wait for the interpreter's own
    /// lock has one.
    private func isWaitingForLock(_ process: Int32) -> Bool {
        Procfs.threads(of: process).filter { $0 != process }.contains { thread in
            let fields = textOfFile("/proc/\(process)/task/\(thread)/syscall")?.split(separator: " ") ?? []
            return fields.first == "202" && fields.count == 9 && fields[4] == "0x0"
        }
    }

    private func names(_ interpreter: SnapshotInterpreter, _ thread: Int32) -> [String] {
        (interpreter.stacks[thread] ?? []).map { frame in
            frame.code.map { String(decoding: interpreter.codes[$0].name.bytes, as: UTF8.self) } ?? "?"
        }
    }

    @Test("has each thread's Python functions", arguments: [CapturedMethod.stopped, .running])
    func functions(how: CapturedMethod) throws {
        guard let subject = try subject() else { return }
        var options = SnapshotOptions.patient
        if how == .running { options.method = .procfsRegisters }
        let contents = try Snapshot.take(of: subject.process, options).contents()
        let interpreter = try #require(contents.interpreter)
        guard interpreter.reading == .complete else {
            print("skipped: \(Self.interpreter) is of version \(String(interpreter.version, radix: 16))")
            return
        }
        let main = names(interpreter, subject.process)
        #expect(main == Array(repeating: "load_feed", count: 4) + ["<module>"])
        let other = try #require(contents.threads.first { $0.id != subject.process })
        #expect(names(interpreter, other.id).first == "wait_for_lock")
        #expect(interpreter.stacks[subject.process]?.last?.isEntry == true)
        #expect(interpreter.codes.allSatisfy { !$0.file.bytes.isEmpty && !$0.locations.isEmpty && $0.firstLine > 0 })
        #expect(interpreter.lockHolder == nil, "all threads sleep")
    }

    @Test("has the innermost functions of a deep recursion")
    func recursion() throws {
        guard let subject = try subject(depth: 900) else { return }
        let interpreter = try #require(try Snapshot.take(of: subject.process, .patient).contents().interpreter)
        guard interpreter.reading != .unknownVersion else { return print("skipped: unknown version") }
        #expect(interpreter.reading == .cut)
        #expect(names(interpreter, subject.process) == Array(repeating: "load_feed", count: 512))
    }

    @Test("has no such functions for a program that is not Python")
    func none() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        #expect(try Snapshot.take(of: subject.process, .patient).contents().interpreter == nil)
    }

    // MARK: Hostile interpreters

    /// A falsehood about a program's Python frames.
    enum Lie: String, CaseIterable, Sendable {
        case frameCircle, threadCircle, interpreterCircle, giantText, giantTable, unmapped, unknownVersion, noLayout
        case giantOffsets
    }

    enum CapturedMethod: Sendable { case stopped, running }

    private func subject(telling lie: Lie) throws -> Subject {
        let program = try Compiler.shared.executable(
            liarSource, name: "liar", flags: ["-rdynamic", "-Wl,--hash-style=gnu"])
        let subject = try Subject(program, ["\(Lie.allCases.firstIndex(of: lie) ?? 0)"])
        while try subject.line() != "ready" {}
        try subject.waitForState("S")
        return subject
    }

    @Test("is not delayed by a program that only claims to be Python", arguments: Lie.allCases)
    func liarInTime(lie: Lie) throws {
        let subject = try subject(telling: lie)
        #expect(try Snapshot.take(of: subject.process, .patient).timings.frozen < .seconds(1))
    }

    @Test("is not confused by a program that only claims to be Python", arguments: Lie.allCases)
    func liar(lie: Lie) throws {
        let subject = try self.subject(telling: lie)
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let interpreter = try #require(try snapshot.contents().interpreter)
        let frames = interpreter.stacks[subject.process] ?? []
        #expect(interpreter.codes.allSatisfy { $0.name.bytes.count <= 2_048 && $0.locations.count <= 65_536 })
        switch lie {
        case .frameCircle:
            #expect(interpreter.reading == .cut)
            #expect(frames.count == 512 && interpreter.codes.count == 1)
        case .threadCircle, .interpreterCircle: #expect(frames.count == 1)
        case .giantText: #expect(interpreter.codes.first?.name.bytes.count == 2_048)
        case .giantTable: #expect(interpreter.codes.first?.locations.count == 65_536)
        case .unmapped: #expect(frames.map(\.code) == [nil])
        case .unknownVersion, .noLayout, .giantOffsets:
            #expect(interpreter.reading == .unknownVersion)
            #expect(frames.isEmpty)
        }
    }
}

/// A C program with CPython 3.11's structures, one of which is false.
private let liarSource = #"""
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    uint64_t _PyRuntime[128];
    unsigned long Py_Version = 0x030b02f0;
    uint64_t PyCode_Type[8], PyUnicode_Type[8], PyBytes_Type[8];
    static uint64_t interpreter[64], thread[64], cframe[4], frame[16], code[40];
    static uint64_t name[32], *table;

    int main(int count, char **arguments) {
        int lie = atoi(arguments[1]);
        table = calloc(1, 200000);
        char *large = calloc(1, 200000);
        _PyRuntime[5] = (uint64_t)(uintptr_t)interpreter;
        interpreter[2] = (uint64_t)(uintptr_t)thread;
        thread[19] = (uint64_t)pthread_self();
        thread[20] = (uint64_t)getpid();
        thread[7] = (uint64_t)(uintptr_t)cframe;
        cframe[1] = (uint64_t)(uintptr_t)frame;
        frame[4] = (uint64_t)(uintptr_t)code;
        ((uint8_t *)frame)[68] = 1;
        code[1] = (uint64_t)(uintptr_t)PyCode_Type;
        code[14] = code[16] = (uint64_t)(uintptr_t)name;
        code[17] = (uint64_t)(uintptr_t)table;
        name[1] = (uint64_t)(uintptr_t)PyUnicode_Type;
        name[2] = 4;
        name[4] = 1 << 2 | 1 << 5 | 1 << 6;
        memcpy(name + 6, "name", 4);
        table[1] = (uint64_t)(uintptr_t)PyBytes_Type;
        table[2] = 3;
        switch (lie) {
            case 0: frame[6] = (uint64_t)(uintptr_t)frame; break;
            case 1: thread[1] = (uint64_t)(uintptr_t)thread; break;
            case 2: interpreter[0] = (uint64_t)(uintptr_t)interpreter; break;
            case 3:
                memcpy(large, name, sizeof name);
                ((uint64_t *)large)[2] = UINT64_MAX;
                code[16] = (uint64_t)(uintptr_t)large;
                break;
            case 4: table[2] = UINT64_MAX; break;
            case 5: frame[4] = UINT64_MAX - 8; frame[6] = UINT64_MAX - 40; break;
            case 6: Py_Version = 0x040000f0; break;
            case 7: Py_Version = 0x030d00f0; break;
            case 8:
                Py_Version = 0x030d00f0;
                memset(_PyRuntime, 0xFF, sizeof _PyRuntime);
                memcpy(_PyRuntime, "xdebugpy", 8);
                _PyRuntime[1] = 0x030d00f0;
                break;
        }
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    }
    """#
