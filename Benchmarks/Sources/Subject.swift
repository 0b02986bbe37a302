// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// What the programs in `Benchmarks/Subjects` write to their standard output.
struct Record: BitwiseCopyable {
    enum Kind: Int32 {
        case entry = 0
        case signOfLife = 1
        case settled = 2
        case witness = 3
    }

    private var process: Int32 = 0
    private var rawKind: Int32 = -1
    private var nanoseconds: Int64 = 0

    var pid: Int32 { process }
    var kind: Kind? { Kind(rawValue: rawKind) }
    var time: Instant { Instant(nanoseconds: nanoseconds) }

    /// Waits for the next record in a pipe.
    static func read(from pipe: OwnedDescriptor) throws -> Record {
        var record = Record()
        guard Glibc.read(pipe.number, &record, MemoryLayout<Record>.size) == MemoryLayout<Record>.size else {
            throw Failure("a program under test ended too early")
        }
        return record
    }
}

/// A program under test that is a child of the benchmarks, without a supervisor.
final class Subject {
    let process: Pidfd
    let startTime: UInt64?
    private let output: OwnedDescriptor

    /// Starts the program and waits until all its threads are about to block.
    init(_ program: String, _ arguments: [String] = []) throws {
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        var request = SpawnRequest.underTest(program, arguments, output: writeEnd.number)
        // As under watchdogd: a session has a share of the CPUs of its own, sched(7).
        request.session = .newSession
        let spawned = try spawn(request)
        process = spawned.process
        startTime = spawned.startTime
        output = readEnd
        while try Record.read(from: output).kind != .settled {}
        // What is left between the last record and the blocking system call of main.
        usleep(2_000)
    }

    deinit {
        try? process.send(SIGKILL)
        _ = try? waitUntilReaped()
    }

    /// Waits for the process's end and reaps it.
    func waitUntilReaped() throws -> Instant {
        while true {
            if try process.waitExit() != nil { return .now() }
            var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 10_000) == 1 else { throw Failure("process \(process.pid) does not end") }
            // As long as a thread of ours traces it, only that thread may reap it. It may need this CPU for it.
            usleep(20)
        }
    }
}

extension SpawnRequest {
    /// A program in the session of the benchmarks, so that an interrupt from the terminal ends it too.
    static func underTest(_ program: String, _ arguments: [String], output: Int32, messages: Int32 = 2) -> SpawnRequest
    {
        var request = SpawnRequest(executable: program, arguments: [program] + arguments)
        request.session = .inherited
        request.descriptors = [.init(0, as: 0), .init(output, as: 1), .init(messages, as: 2)]
        return request
    }
}
