// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSymbolication
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("The worker", .reapsChildren)
struct WorkerTests {
    /// Expects a report of addresses: no names, but the images with their build-ids, and the reason.
    private func expectAddresses(_ captured: CapturedProcess, because reason: String) throws {
        #expect(captured.threads.count == 2)
        #expect(captured.threads.allSatisfy { !$0.frames.isEmpty })
        #expect(captured.threads.flatMap(\.frames).allSatisfy { $0.symbol == nil && $0.sourceFile == nil })
        #expect(try captured.image("libc.so.6").buildID != nil)
        let sentence = "the frames have addresses only: no confined process could read files, because \(reason)"
        #expect(captured.notes.filter { $0.contains("confined process") } == [sentence])
    }

    @Test(
        "may be impossible to create: libdw reads no file, and the report states the reason",
        arguments: ["pipe", "fork"])
    func missing(call: String) throws {
        let process = try Subject.chainWithLines.start(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let contents = try snapshot.contents()
        var job = SymbolicationJob()
        let failure: () -> Int32 = {
            errno = EAGAIN
            return -1
        }
        if call == "pipe" { job.calls.pipe = { _ in failure() } } else { job.calls.fork = failure }
        var ends: [Int32] = [-1, -1]
        guard wd_pipe(&ends, 0) == 0 else { throw Failure(description: "pipe: \(errno)") }
        // The job drops its process's rights, so it needs its own process.
        let child = wd_worker_fork(16 << 30, 2 << 30)
        if child == 0 {
            dup2(ends[1], STDOUT_FILENO)
            close(ends[1])
            _exit(job.run(contents, modules: snapshot.modules, output: STDOUT_FILENO) == nil ? 0 : 1)
        }
        close(ends[1])
        defer { close(ends[0]) }
        var json: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var entry = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, patienceInMilliseconds) > 0 {
            let count = read(ends[0], &buffer, buffer.count)
            guard count > 0 else { break }
            json += buffer.prefix(count)
        }
        var status: Int32 = 0
        if !eventually({ waitpid(child, &status, WNOHANG) == child }) { kill(child, SIGKILL) }
        #expect(status == 0)
        let captured = try JSONDecoder().decode(CapturedProcess.self, from: Data(json))
        try expectAddresses(captured, because: "\(call)(2) failed: Resource temporarily unavailable (EAGAIN)")
    }

    @Test(
        "may be one process too many for its user: libdw reads no file, and the report states the reason",
        .enabled(if: geteuid() == 0))
    func processLimit() throws {
        let process = try Subject.chainWithLines.start(threads: 2)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let program = "\(try Subject.buildDirectory())/watchdogd-symbolicate"
        var limits = Symbolicator.Limits()
        limits.work = patience / 2
        limits.budget = patience
        let named = Symbolicator(program: program, limits: limits).symbolicate(snapshot)
        #expect(try named.main.frames.contains { $0.symbol != nil }, "\(named.notes)")
        // RLIMIT_NPROC applies to ordinary users only: the program of root's watchdogd runs as one.
        limits.processes = 1
        let captured = Symbolicator(program: program, limits: limits).symbolicate(snapshot)
        try expectAddresses(captured, because: "fork(2) failed: Resource temporarily unavailable (EAGAIN)")
    }

    @Test("makes only the system calls that it needs")
    func calls() throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        func maps(_ protection: Int32, _ flags: Int32, _ size: Int) -> Bool {
            mmap(nil, size, protection, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED
        }
        // Numbers of x86-64.
        let refused: [(String, () -> Bool)] = [
            ("pipe2", { systemCall(293, [0, 0]) != nil || errno != EPERM }),
            ("getppid", { systemCall(110, []) != nil || errno != EPERM }),
            ("clone", { systemCall(56, [0, 0]) != nil || errno != EPERM }),
            ("inotify_init1", { systemCall(294, [0]) != nil || errno != EPERM }),
            ("prctl", { systemCall(157, [3, 0]) != nil || errno != EPERM }),
            ("splice", { systemCall(275, [-1, 0, -1, 0]) != nil || errno != EPERM }),
            ("mount", { systemCall(165, [0, 0, 0]) != nil || errno != EPERM }),
            ("write", { systemCall(1, [Int(null), 0, 0]) != nil || errno != EPERM }),
            ("executable memory", { maps(PROT_READ | PROT_EXEC, MAP_PRIVATE, 4096) }),
            ("shared memory", { maps(PROT_READ | PROT_WRITE, MAP_SHARED, 4096) }),
            ("3 GiB", { maps(PROT_READ | PROT_WRITE, MAP_PRIVATE, 3 << 30) }),
        ]
        let board = try Worker.run(until: .now() + patience) { blackboard in
            let isPrivate = maps(PROT_READ | PROT_WRITE, MAP_PRIVATE, 64 << 20)
            return blackboard.post(refused.map { $0.1() ? 1 : 0 } + [isPrivate ? 1 : 0]) ? 0 : 1
        }
        #expect(zip(refused, board.result).filter { $1 != 0 }.map(\.0.0) == [])
        #expect(board.result.last == 1)
    }
}
