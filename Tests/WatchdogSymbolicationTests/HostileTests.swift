// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("Hostile bytes", .reapsChildren)
struct HostileTests {
    @Test("a hostile snapshot yields a report or exit code 65, never a crash or a hang")
    func snapshot() throws {
        let process = try Subject.tasks.start(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let original = try bytes(behind: snapshot.memory)
        var generator = SeededGenerator(seed: 1)
        var codes: [Int32: Int] = [:]
        let rounds = StormScale.part(of: 60)
        for _ in 0..<rounds {
            var mutated = original
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                mutated.removeLast(Int.random(in: 1..<mutated.count, using: &generator))
            case 1:
                for _ in 0..<4 { mutate(&mutated, in: 0..<4096, using: &generator) }
            default:
                for _ in 0..<3 { mutate(&mutated, in: 0..<mutated.count, using: &generator) }
            }
            let helper = try withScratch([mutated]) { scratch in
                try Helper(["--budget", "10s"], descriptors: scratch + snapshot.modules)
            }
            codes[helper.exitCode, default: 0] += 1
            #expect([0, 65].contains(helper.exitCode), "\(helper.errors)")
            if helper.exitCode == 0 { _ = try helper.captured() }
        }
        #expect((codes[0] ?? 0) > rounds / 12 && (codes[65] ?? 0) > rounds / 12, "exit codes and how often: \(codes)")
    }

    @Test("hostile registers and stacks yield frames inside the process, or none")
    func stacks() throws {
        let process = try Subject.chain.start(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let contents = try snapshot.contents()
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<StormScale.part(of: 300) {
            var mutated = contents
            for index in mutated.threads.indices {
                for _ in 0..<4 {
                    let register = Int.random(in: 0..<17, using: &generator)
                    let values: [UInt64] = [
                        .max, .max - 7, 0, 1, 1 << 63, UInt64.random(in: 0...(.max), using: &generator),
                        mutated.threads[index].registers[7], mutated.threads[index].registers[16],
                    ]
                    mutated.threads[index].registers[register] = values.randomElement(using: &generator) ?? 0
                }
                guard var stack = mutated.threads[index].stack else { continue }
                var bytes = Array(stack.bytes)
                for _ in 0..<40 { mutate(&bytes, in: 0..<bytes.count, using: &generator) }
                if Bool.random(using: &generator) { stack.address = .max - UInt64(bytes.count) }
                stack.bytes = bytes[...]
                mutated.threads[index].stack = stack
            }
            let captured = try symbolicate(mutated, modules: snapshot.modules, depth: .names)
            #expect(captured.threads.count == 2)
            #expect(captured.threads.allSatisfy { $0.frames.count <= 1024 })
            #expect(captured.threads.flatMap(\.frames).allSatisfy { captured.images.indices.contains($0.imageIndex) })
        }
    }

    @Test("a hostile module leaves the other modules' frames unchanged", arguments: [Subject.chainWithLines, .inlined])
    func module(subject: Subject) throws {
        let process = try subject.start("inlined", threads: subject.source == "chain.c" ? 2 : 1)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let whole = try symbolicate(try snapshot.contents(), modules: snapshot.modules)
        let original = try bytes(behind: snapshot.modules[0])
        var generator = SeededGenerator(seed: 5)
        for round in 0..<StormScale.part(of: 40) {
            var mutated = original
            switch round % 5 {
            case 0: mutated.removeLast(Int.random(in: 1..<mutated.count, using: &generator))
            case 1: for _ in 0..<8 { mutate(&mutated, in: 0..<64, using: &generator) }
            case 2: for _ in 0..<8 { mutate(&mutated, in: 64..<1024, using: &generator) }
            default: for _ in 0..<500 { mutate(&mutated, in: 1024..<mutated.count, using: &generator) }
            }
            let helper = try withScratch([mutated]) { scratch in
                let descriptors = [snapshot.memory] + scratch + snapshot.modules.dropFirst()
                return try Helper(["--budget", "10s"], descriptors: descriptors)
            }
            #expect(helper.exitCode == 0, "\(helper.errors)")
            let captured = try helper.captured()
            #expect(captured.threads.count == whole.threads.count)
            #expect(try captured.main.frames.first == whole.main.frames.first)
            #expect(captured.images.dropFirst() == whole.images.dropFirst())
        }
    }

    @Test("empty files, text, directories, pipes and devices instead of modules do no harm")
    func notModules() throws {
        let process = try Subject.chain.start(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        var ends: [Int32] = [-1, -1]
        #expect(wd_pipe(&ends, 0) == 0)
        let directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let device = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        defer { for descriptor in ends + [directory, device] { close(descriptor) } }
        let files: [[UInt8]] = [[], Array("#!/bin/sh\n".utf8), [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]]
        try withScratch(files) { scratch in
            for descriptor in scratch + [ends[0], directory, device] {
                let helper = try Helper(descriptors: [snapshot.memory] + snapshot.modules.map { _ in descriptor })
                #expect(helper.exitCode == 0)
                let captured = try helper.captured()
                #expect(captured.threads.count == 2)
                #expect(captured.threads.allSatisfy { $0.frames.count >= 1 })
                #expect(try captured.image("libc.so.6").buildID == nil)
            }
        }
    }

    @Test("a file that hangs libdw costs its names, twice a share of the budget, and no more")
    func hang() throws {
        // Without its own symbols, the program's are searched in a file beside it: a FIFO without a writer.
        let original = try Subject.chainStripped.executable()
        let path = "\(original).hang-\(getpid())"
        let fifo = "\(path).debug"
        try withScratchFile(at: fifo, text: "debug information") {
            try output(of: ["objcopy", "--add-gnu-debuglink=\(fifo)", original, path])
        }
        guard mkfifo(fifo, 0o600) == 0 else { throw Failure(description: "mkfifo: \(errno)") }
        defer { for name in [path, fifo] { unlink(name) } }
        let process = try Process([path])
        try process.waitUntilReady()
        try process.waitUntilAsleep(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let helper = try Helper(["--budget", "10s"], snapshot: snapshot)
        #expect(helper.exitCode == 0, "\(helper.errors)")
        let captured = try helper.captured()
        #expect(captured.notes.filter { $0.hasPrefix("\(path): reading it ended with a timeout") }.count == 2)
        let frames = try captured.main.frames
        #expect(frames.first?.symbol == "pause")
        #expect(frames.contain(chain: ["?", "?", "?", "?", "__libc_start_call_main"]), "\(frames.listing)")
    }

    @Test("a worker that crashes or hangs ends with its signal, the image and no result")
    func worker() throws {
        func run(for time: Duration, _ body: (Blackboard) -> Int32) -> Result<Int, Attempt.Failure> {
            do throws(Attempt.Failure) {
                return .success(try Worker.run(until: .now() + time, body).result.count)
            } catch {
                return .failure(error)
            }
        }
        let crash = run(for: patience) { blackboard in
            blackboard.image = 5
            raise(SIGSEGV)
            return 0
        }
        #expect(crash == .failure(.signal(SIGSEGV, image: 5)))
        var time = Duration.milliseconds(300)
        var hang: Result<Int, Attempt.Failure>
        repeat {
            // It may have had no CPU to begin with.
            time = time * 2
            hang = run(for: time) { blackboard in
                blackboard.image = 6
                while true { pause() }
            }
        } while hang == .failure(.timeout(image: nil)) && time < patience
        #expect(hang == .failure(.timeout(image: 6)))
        #expect(run(for: patience) { _ in 7 } == .failure(.exit(7)))
        #expect(run(for: patience) { _ in 0 } == .success(0))
        #expect(run(for: patience) { $0.post([1, 2, 3]) ? 0 : 1 } == .success(3))
    }

    @Test(
        "a worker has no network, starts no programs, writes no files, and opens only those that it may read")
    func confinement() throws {
        /// The actions that succeed in a worker; the last number is the kernel's confinement.
        func outcome(_ deeds: [() -> Bool]) throws -> [UInt8] {
            let board = try Worker.run(until: .now() + patience, readable: ["/usr/lib"]) { blackboard in
                let results: [UInt8] = deeds.map { $0() ? 1 : 0 }
                return blackboard.post(results + [UInt8(blackboard.confinement.rawValue)]) ? 0 : 1
            }
            return Array(board.result)
        }
        let path = "/tmp/watchdog-confinement-\(getpid())"
        try withScratchFile(at: path, text: "x") {
            let own = open(path, O_RDWR)
            defer { close(own) }
            let forbidden: [() -> Bool] = [
                { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0 },
                { socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0) >= 0 },
                { open(path, O_RDWR) >= 0 }, { open(path + "-new", O_WRONLY | O_CREAT, 0o600) >= 0 },
                { unlink(path) == 0 }, { rename(path, path + "-new") == 0 }, { mkdir(path + "-new", 0o700) == 0 },
                { chmod(path, 0o777) == 0 }, { fchmod(own, 0o777) == 0 }, { ftruncate(own, 0) == 0 },
                { execv("/bin/true", [nil]) == 0 },
            ]
            let refused = try outcome(forbidden)
            #expect(refused.dropLast() == ArraySlice(forbidden.map { _ in 0 }))
            let allowed: [() -> Bool] = [
                { open("/usr/lib/os-release", O_RDONLY) >= 0 },
                {
                    var byte: UInt8 = 0
                    return pread(own, &byte, 1, 0) == 1
                },
            ]
            #expect(try outcome(allowed).dropLast() == [1, 1])
            let elsewhere = try outcome([{ open(path, O_RDONLY) >= 0 }, { open("/etc/passwd", O_RDONLY) >= 0 }])
            // Without Landlock, only its user's permissions prevent it from reading.
            if Confinement(rawValue: UInt32(elsewhere[2])).contains(.files) { #expect(elsewhere.dropLast() == [0, 0]) }
        }
    }

    @Test("a worker signals and changes no other process, and changes no file by calls of newer kernels")
    func otherProcesses() throws {
        let other = try Process(["/bin/sleep", "1000"])
        let path = "/tmp/watchdog-confinement-\(getpid())-other"
        try withScratchFile(at: path, text: "x") {
            let own = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(own) }
            /// Whether a call reached the kernel; its result for such arguments does not matter.
            func arrives(_ number: Int, _ arguments: Int...) -> Bool {
                systemCall(number, arguments) != nil || ![EPERM, ENOSYS, ENOTTY].contains(errno)
            }
            let target = Int(other.id)
            // Numbers of x86-64; from 424 on they are the same everywhere.
            let calls: [(String, () -> Bool)] = [
                ("kill", { kill(other.id, 0) == 0 }),
                ("tkill", { arrives(200, target, 0) }), ("tgkill", { arrives(234, target, target, 0) }),
                ("rt_sigqueueinfo", { arrives(129, target, 0, 0) }),
                ("rt_tgsigqueueinfo", { arrives(297, target, target, 0, 0) }),
                ("pidfd_open", { arrives(434, target, 0) }), ("pidfd_send_signal", { arrives(424, -1, 0, 0, 0) }),
                ("prlimit64", { arrives(302, target, 0, 0, 0) }), ("setpriority", { arrives(141, 0, target, 1) }),
                ("sched_setaffinity", { arrives(203, target, 0, 0) }),
                ("F_SETOWN", { fcntl(own, F_SETOWN, other.id) == 0 }), ("setsid", { arrives(112) }),
                ("fchmodat2", { arrives(452, -100, -1, 0o666, 0) }), ("setxattrat", { arrives(463, -1, -1) }),
                ("removexattrat", { arrives(466, -1, -1) }), ("file_setattr", { arrives(469, -1, -1) }),
                ("what came later", { arrives(470, -1, -1) }), ("ioctl", { arrives(16, Int(own), 0x8008_6601, 0) }),
                ("open_by_handle_at", { arrives(304, -100, 0, 0) }),
            ]
            let board = try Worker.run(until: .now() + patience) { blackboard in
                blackboard.post(calls.map { $0.1() ? 1 : 0 }) ? 0 : 1
            }
            #expect(zip(calls, board.result).filter { $1 != 0 }.map(\.0.0) == [])
            #expect(kill(other.id, 0) == 0)
        }
    }

    @Test("a report names the rights that a worker kept because the kernel cannot drop them")
    func notes() throws {
        #expect(Confinement([.files, .calls]).notes == [])
        #expect(Confinement.calls.notes.count == 1 && Confinement.calls.notes[0].contains("landlock(7)"))
        #expect(Confinement.files.notes.count == 1 && Confinement.files.notes[0].contains("seccomp(2)"))
        let board = try Worker.run(until: .now() + patience) { board in
            board.post(board.confinement.notes.joined().utf8) ? 0 : 1
        }
        #expect(board.confinement == (try kernelConfinement()))
        #expect(board.confinement.contains(.calls))
        #expect(board.result.isEmpty == board.confinement.notes.isEmpty)
    }

    @Test("a worker may signal itself, and read its own limits")
    func ownProcess() throws {
        let board = try Worker.run(until: .now() + patience) { blackboard in
            var limit = rlimit()
            let deeds = [
                raise(SIGURG) == 0, getrlimit(7, &limit) == 0, fcntl(0, F_GETFD) != -1,
            ]
            return blackboard.post(deeds.map { $0 ? 1 : 0 }) ? 0 : 1
        }
        #expect(board.result.elementsEqual([1, 1, 1]))
        let end = #expect(throws: Attempt.Failure.self) {
            try Worker.run(until: .now() + patience) { _ in abort() }
        }
        #expect(end == .signal(SIGABRT, image: nil))
    }

    private func withScratchFile(at path: String, text: String, _ body: () throws -> Void) throws {
        guard let file = fopen(path, "w") else { throw Failure(description: "fopen: \(errno)") }
        defer { unlink(path) }
        fputs(text, file)
        fclose(file)
        try body()
    }

    private func mutate(_ bytes: inout [UInt8], in range: Range<Int>, using generator: inout SeededGenerator) {
        let index = Int.random(in: range, using: &generator)
        guard bytes.indices.contains(index) else { return }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[index] = 0xff
        default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        }
    }
}
