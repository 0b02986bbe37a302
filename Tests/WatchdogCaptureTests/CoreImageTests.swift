// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

@Suite("The core file of a snapshot", .reapsChildren)
struct CoreImageTests {
    private func opened(_ bytes: [UInt8]) throws -> (file: OwnedDescriptor, core: CoreFile) {
        let file = try #require(OwnedDescriptor(sealing: bytes))
        return (file, try CoreFile(descriptor: file.number) { false })
    }

    /// A synthetic snapshot of threads with stacks of some size.
    private func contents(
        threads: Int, stack: Int, source: SnapshotThread.RegisterSource = .ptrace, architecture: String = "x86-64",
        mappings: Int = 0, path: String = "/usr/lib/libone.so"
    ) throws -> SnapshotContents {
        var builder = SnapshotBuilder()
        builder.process("PID=100\nPPID=2\nCOMM=app\nEXE=/usr/bin/app\nMETHOD=ptrace\nARCH=\(architecture)\n")
        let lines = (0..<mappings).map { index in
            let start = 0x1000_0000 + UInt64(index) * 0x2000
            return
                "\(String(start, radix: 16))-\(String(start + 0x1000, radix: 16)) r--p 0 fe:00 \(index + 1) \(path)\n"
        }
        builder.record(2, Array(lines.joined().utf8))
        for index in 0..<threads { builder.thread(100 + Int32(index), source: source.rawValue) }
        for index in 0..<threads where stack > 0 {
            let bytes = [UInt8](repeating: UInt8(index % 251 + 1), count: stack)
            builder.memory(
                4, address: 0x7000_0000_0f80 + UInt64(index) << 24, owner: 100 + UInt64(index), bytes: bytes)
        }
        return try SnapshotReader.parse(builder.bytes)
    }

    @Test("has the threads, registers, stacks and mapped files of a real process, as the core reader finds them")
    func roundTrip() throws {
        let subject = try Subject("threads", "2")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let contents = try snapshot.contents()
        let coreFile = try opened(try snapshot.core().bytes)
        defer { withExtendedLifetime(coreFile.file) {} }
        let core = coreFile.core
        #expect(core.process?.id == subject.process)
        #expect(core.process?.parent == getpid())
        #expect(core.process?.name == "subject")
        #expect(core.threads.map(\.id) == contents.threads.map(\.id))
        #expect(core.threads.first?.id == subject.process)
        #expect(!core.isCutOff && core.leftOutThreads == 0)
        for (written, thread) in zip(core.threads, contents.threads) {
            #expect(written.registers == thread.registers)
            let stack = try #require(thread.stack)
            #expect(core.memory(at: stack.address, count: stack.bytes.count) == Array(stack.bytes))
        }
        for marker in subject.markers {
            let value: UInt64? = core.memory(at: marker.address, count: 8).load(at: 0)
            #expect(value == marker.value)
        }
        let files = contents.mappings.filter(\.isFile)
        #expect(!files.isEmpty)
        for mapping in files {
            let written = try #require(core.mappings[mapping.start])
            #expect(written.end == mapping.end && written.offset == mapping.offset)
            #expect(written.path == Array(mapping.path.utf8))
        }
        #expect(core.vdso == contents.vdso?.address)
        for mapping in contents.mappings where mapping.start < 1 << 63 {
            let segment = try #require(core.segment(at: mapping.start))
            #expect(segment.isExecutable == mapping.isExecutable && segment.isWritable == mapping.isWritable)
        }
    }

    @Test("has both ends of a deep stack, and states the gap between them", arguments: [0, 10_000])
    func ends(gap: Int) throws {
        let (start, length) = (UInt64(0x7000_0000_0f80), 8_000)
        let outer = start + UInt64(length + gap)
        var builder = SnapshotBuilder()
        builder.process("PID=100\nPPID=2\nCOMM=app\nEXE=/usr/bin/app\nMETHOD=ptrace\nARCH=x86-64\n")
        builder.thread(100, source: SnapshotThread.RegisterSource.ptrace.rawValue)
        builder.memory(4, address: start, owner: 100, bytes: [UInt8](repeating: 1, count: length))
        builder.memory(12, address: outer, owner: 100, bytes: [UInt8](repeating: 2, count: 4_096))
        let image = try CoreImage(try SnapshotReader.parse(builder.bytes), files: [])
        let coreFile = try opened(image.bytes)
        defer { withExtendedLifetime(coreFile.file) {} }
        #expect(coreFile.core.memory(at: start, count: length) == [UInt8](repeating: 1, count: length))
        #expect(coreFile.core.memory(at: outer, count: 4_096) == [UInt8](repeating: 2, count: 4_096))
        #expect(image.missing.map(\.bytes) == (gap == 0 ? [] : [gap]))
        #expect(image.missing.allSatisfy { $0.thread == 100 })
    }

    @Test("has the first page of each mapped file, with its build ID, and the loader's list of them")
    func files() throws {
        let subject = try Subject("threads", "1")
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let contents = try snapshot.contents()
        let coreFile = try opened(try snapshot.core().bytes)
        defer { withExtendedLifetime(coreFile.file) {} }
        let core = coreFile.core
        let modules = contents.modules
        #expect(modules.count >= 2)
        for module in modules {
            let file = snapshot.modules[try #require(module.descriptor)]
            #expect(core.memory(at: module.start, count: 4_096) == FileBytes.read(file, at: 0, count: 4_096))
        }
        // DT_DEBUG leads to r_debug, whose second word is the first entry.
        let program = try #require(modules.first { $0.path == contents.process.executable })
        let mapping = try #require(contents.mapping(at: program.start))
        let number = try #require(program.descriptor)
        let header = try #require(CoreModule(mapping, snapshot.modules[number]))
        let dynamic = try #require(header.dynamic)
        let section = core.memory(at: dynamic.address, count: dynamic.size)
        let tags = stride(from: 0, to: section.count, by: 16).map { start -> UInt64? in section.load(at: start) }
        let debug = try #require(tags.firstIndex(of: 21))
        let value: UInt64? = section.load(at: 16 * debug + 8)
        let place = try #require(value)
        #expect(contents.mapping(at: place) == nil, "nothing is mapped there")
        var entry: UInt64 = core.memory(at: place + 8, count: 8).load(at: 0) ?? 0
        var names: [String] = []
        while entry != 0, names.count < 100 {
            let bytes = core.memory(at: entry, count: 40)
            let name: UInt64 = bytes.load(at: 8) ?? 0
            names.append(String(decoding: core.memory(at: name, count: 4_096).prefix { $0 != 0 }, as: UTF8.self))
            entry = bytes.load(at: 24) ?? 0
        }
        #expect(names == [""] + modules.filter { $0.start != program.start }.map(\.path))
    }

    @Test("is the same for the same snapshot, and has neither arguments nor environment")
    func deterministic() throws {
        let program = try Compiler.shared.executable(subjectSource)
        let subject = try Subject(program, ["read", "argument-7c1e"], environment: ["PASSWORD=secret-7c1e"])
        try subject.waitUntilReady()
        let snapshot = try Snapshot.take(of: subject.process, .patient)
        let core = try snapshot.core().bytes
        #expect(try snapshot.core().bytes == core)
        let text = String(decoding: core, as: UTF8.self)
        #expect(!text.contains("secret-7c1e") && !text.contains("argument-7c1e"))
    }

    @Test("The core of a process that keeps running has the state of its sleeping threads")
    func undisturbed() throws {
        let subject = try Subject("threads", "1")
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process)
        #expect(snapshot.method == .procfsRegisters)
        let contents = try snapshot.contents()
        let coreFile = try opened(try snapshot.core().bytes)
        defer { withExtendedLifetime(coreFile.file) {} }
        let core = coreFile.core
        let main = try #require(core.threads.first)
        #expect(main.id == subject.process)
        #expect(main.registers[SnapshotRegister.rip.rawValue] == contents.threads.first?[.rip])
        #expect(main.registers[SnapshotRegister.cs.rawValue] == 0x33)
    }

    @Test("is bounded however many threads and mappings there are, and the main thread's stack is complete")
    func bounds() throws {
        let many = try contents(threads: 4_096, stack: 12 << 10)
        let bytes = try CoreImage(many, files: []).bytes
        #expect(bytes.count <= CoreImage.limit)
        #expect(bytes.count > CoreImage.limit / 2)
        let coreFile = try opened(bytes)
        defer { withExtendedLifetime(coreFile.file) {} }
        let core = coreFile.core
        #expect(core.threads.count == 4_096)
        let main = try #require(many.threads.first?.stack)
        #expect(core.memory(at: main.address, count: main.bytes.count) == Array(main.bytes))

        let large = try contents(threads: 100, stack: 512 << 10)
        let largest = try CoreImage(large, files: []).bytes
        #expect(largest.count <= CoreImage.limit)
        let secondFile = try opened(largest)
        defer { withExtendedLifetime(secondFile.file) {} }
        let second = secondFile.core
        for thread in large.threads {
            let stack = try #require(thread.stack)
            #expect(second.memory(at: stack.address, count: 4_096) == Array(stack.bytes.prefix(4_096)))
        }

        let mapped = try contents(
            threads: 1, stack: 100, mappings: 40_000, path: "/" + String(repeating: "x", count: 100))
        let mappedBytes = try CoreImage(mapped, files: []).bytes
        #expect(mappedBytes.count <= CoreImage.limit)
        #expect(try opened(mappedBytes).core.threads.count == 1)
    }

    @Test("requires registers, and an architecture whose cores are known")
    func refusals() throws {
        let none = try contents(threads: 2, stack: 0, source: .none)
        #expect(throws: CoreError("no thread has registers")) { try CoreImage(none, files: []) }
        let other = try contents(threads: 1, stack: 0, architecture: "riscv64")
        #expect(throws: CoreError("no core is written for riscv64")) { try CoreImage(other, files: []) }
    }

    @Test("has no content of files that cannot be opened or are not ELF files")
    func foreignFiles() throws {
        let file = try #require(OwnedDescriptor(sealing: [UInt8](repeating: 0x7F, count: 8_192)))
        var contents = try self.contents(threads: 1, stack: 100, mappings: 2)
        contents.modules = [
            SnapshotModule(start: 0x1000_0000, descriptor: 0, path: "/usr/lib/libone.so"),
            SnapshotModule(start: 0x1000_2000, descriptor: nil, path: "/usr/lib/libtwo.so"),
        ]
        let coreFile = try opened(try CoreImage(contents, files: [file.number]).bytes)
        defer { withExtendedLifetime(coreFile.file) {} }
        let core = coreFile.core
        #expect(core.mappings.count == 2)
        #expect(core.memory(at: 0x1000_0000, count: 16).isEmpty)
    }
}
