// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogCapture

/// Uses real cores of this kernel, if it writes them to files.
@Suite("Core files", .reapsChildren)
struct CoreContentsTests {
    private static let source = """
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/resource.h>
        #include <unistd.h>
        static pthread_barrier_t barrier;
        __attribute__((noinline)) int touch(volatile int *place) { return *place; }
        static void *worker(void *place) {
            pthread_barrier_wait(&barrier);
            return (void *)(long)touch(place);
        }
        int main(int count, char **arguments) {
            struct rlimit limit = {1 << 28, 1 << 28};
            if (chdir(arguments[1]) != 0 || setrlimit(RLIMIT_CORE, &limit) != 0) return 1;
            pthread_t thread;
            pthread_barrier_init(&barrier, NULL, 2);
            pthread_create(&thread, NULL, worker, (void *)0x18);
            pthread_barrier_wait(&barrier);
            pthread_join(thread, NULL);
            return count;
        }
        """

    private static let isPossible: Bool = {
        guard case .file = CorePattern.current(), let limit = try? ResourceLimit.current(.core),
            limit.hard >= 1 << 28
        else {
            print("skipped: cores in files need kernel.core_pattern without a pipe, and a hard limit above 256 MiB")
            return false
        }
        return true
    }()

    /// The core of a program that dereferenced a null pointer in its second thread.
    private func withCore(_ body: (_ core: OwnedDescriptor, _ process: Int32) throws -> Void) throws {
        let directory = try temporaryDirectory()
        let launched = Int64(time(nil))
        let program = try Compiler.shared.executable(Self.source)
        let subject = try Subject(program, [directory], environment: ["PASSWORD=secret-7c1e"])
        subject.leaveReaping()
        var status: Int32 = 0
        #expect(waitpid(subject.process, &status, 0) == subject.process)
        #expect(status & 0x7F == SIGSEGV && status & 0x80 != 0, "it has dumped core: \(status)")
        guard case .file(let name) = CorePattern.current() else { return }
        let search = CoreSearch(
            process: subject.process, user: geteuid(), launched: launched, directories: [directory])
        let candidate = try #require(search.candidates(name).first)
        #expect(candidate.remove())
        try body(candidate.descriptor, subject.process)
    }

    @Test(
        "A core has the signal, the address, the thread and every stack, the main thread's first",
        .enabled(if: isPossible))
    func whole() throws {
        try withCore { file, process in
            let core = try CoreContents(reading: file.number, of: process) { false }
            #expect(core.signal == SignalInfo(signal: 11, code: 1, union: 0x18))
            #expect(core.signal?.address == 0x18)
            #expect(core.thread != process)
            let contents = try core.snapshot.contents()
            #expect(contents.process.method == .core)
            #expect(contents.threads.map(\.id) == [process, core.thread])
            #expect(contents.vdso != nil)
            let text = String(decoding: try bytes(of: core.snapshot.memory), as: UTF8.self)
            #expect(!text.contains("secret-7c1e"), "the environment is left out")
            for thread in contents.threads {
                let pointer = try #require(thread[.rsp])
                let stack = try #require(thread.stack)
                #expect(stack.word(at: pointer) != nil, "the top of the stack of \(thread.id)")
                #expect(contents.mapping(at: try #require(thread[.rip]))?.isExecutable == true)
            }
            #expect(contents.modules.contains { $0.path.contains("libc.so") && $0.descriptor != nil })
            let captured = CapturedProcess(contents, descriptors: core.snapshot.modules, note: "none")
            #expect(captured.images.contains { $0.name.hasPrefix("libc.so") && $0.buildID != nil })
        }
    }

    @Test("The core of another process is rejected", .enabled(if: isPossible))
    func another() throws {
        try withCore { file, process in
            let error = #expect(throws: CoreError.self) {
                try CoreContents(reading: file.number, of: process + 1) { false }
            }
            #expect(error?.description == "it is of another process")
        }
    }

    @Test("A file whose first page has changed does not count as the mapped one", .enabled(if: isPossible))
    func replacedFile() throws {
        try withCore { file, process in
            let bytes = try contents(of: file)
            var changed = bytes
            // The header of the program in the core: after the first page of the notes, at a page's start.
            let starts = stride(from: 4096, to: bytes.count - 4, by: 4096).filter {
                bytes[$0] == 0x7F && bytes[$0 + 1] == UInt8(ascii: "E") && bytes[$0 + 2] == UInt8(ascii: "L")
            }
            #expect(starts.count >= 2)
            for start in starts { changed[start + 9] ^= 0xFF }
            let core = try core(changed, of: process)
            #expect(core.snapshot.modules.isEmpty)
            #expect(try core.snapshot.contents().modules.allSatisfy { $0.descriptor == nil })
        }
    }

    @Test("A core truncated anywhere yields the remaining part or an error, and reports that", .enabled(if: isPossible))
    func cutOff() throws {
        try withCore { file, process in
            let bytes = try contents(of: file)
            var errors = 0
            for end in [0, 1, 15, 63, 64, 100, 500, 1_000, 4_000, 4_096, 8_000, bytes.count / 2, bytes.count - 1] {
                do {
                    let core = try core(Array(bytes[..<end]), of: process)
                    #expect(try core.snapshot.contents().process.truncation?.contains("cut off") == true, "\(end)")
                } catch {
                    errors += 1
                }
            }
            #expect(errors >= 5)
        }
    }

    @Test("Headers and notes with any byte changed are read within bounds", .enabled(if: isPossible))
    func mangled() throws {
        try withCore { file, process in
            let bytes = Array(try contents(of: file).prefix(96 << 10))
            // Different in each run, because the cores differ in each run too.
            let seed = testSeed
            var generator = SeededGenerator(seed: seed)
            let copy = try written(bytes)
            for round in 0..<1_500 {
                // The headers byte by byte, the rest at random places.
                let place = round < 512 ? round : Int.random(in: 0..<min(bytes.count, 16_384), using: &generator)
                var byte = [UInt8](arrayLiteral: [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0)
                #expect(pwrite(copy.number, &byte, 1, off_t(place)) == 1, "WATCHDOGD_TEST_SEED=\(seed)")
                if let core = try? CoreContents(reading: copy.number, of: process, isLate: { false }) {
                    #expect(throws: Never.self, "WATCHDOGD_TEST_SEED=\(seed)") { try core.snapshot.contents() }
                }
                byte = [bytes[place]]
                #expect(pwrite(copy.number, &byte, 1, off_t(place)) == 1)
            }
        }
    }

    @Test("A file that is not a core is rejected", arguments: ["", "core", String(repeating: "\u{7F}ELF", count: 100)])
    func noCore(text: String) throws {
        let error = #expect(throws: CoreError.self) {
            try core(Array(text.utf8), of: 1)
        }
        #expect(error?.description == "it is not a core file")
    }

    // MARK: - Files

    private func contents(of file: OwnedDescriptor) throws -> [UInt8] {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw Subject.Failure(description: "fstat: \(errno)") }
        let size = Int(status.st_size)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let length = pread(file.number, buffer.baseAddress?.advanced(by: count), size - count, off_t(count))
                guard length > 0 else { break }
                count += length
            }
        }
    }

    private func core(_ bytes: [UInt8], of process: Int32) throws -> CoreContents {
        let file = try written(bytes)
        return try withExtendedLifetime(file) { try CoreContents(reading: file.number, of: process) { false } }
    }

    private func written(_ bytes: [UInt8]) throws -> OwnedDescriptor {
        var template = Array("/tmp/watchdogd-core-XXXXXX".utf8CString)
        let number = mkstemp(&template)
        guard number >= 0 else { throw Subject.Failure(description: "mkstemp: \(errno)") }
        let file = OwnedDescriptor(taking: number)
        unlink(template)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { write(number, $0.baseAddress?.advanced(by: done), $0.count - done) }
            guard count > 0 else { throw Subject.Failure(description: "write: \(errno)") }
            done += count
        }
        return file
    }
}
