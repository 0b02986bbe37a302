// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// The environment of a peer: a directory, a FIFO for its services' records, and cleanup of everything that it started.
final class PeerStage {
    let directory: String
    /// The program that services run.
    let service: String
    private var records: OwnedDescriptor
    private let containment: Containment
    private let cgroupParent: CgroupParent?
    private let process: Pidfd

    /// Starts a peer.
    ///
    /// - Parameters:
    ///   - bench: where programs are.
    ///   - input: its standard input.
    ///   - passesOutput: whether services have its standard output; else they write to the FIFO `records` by themselves.
    ///   - prepare: writes what the peer reads into the directory; returns the command.
    init(
        _ bench: Bench, input: Int32 = 0, passesOutput: Bool = false,
        _ prepare: (_ directory: String, _ service: String) throws -> [String]
    ) throws {
        directory = bench.freshPath("peer")
        service = bench.subject("service")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        guard mkfifo("\(directory)/records", 0o600) == 0 else { throw Failure("no FIFO in \(directory)") }
        // Open in both directions: it is never at its end.
        records = try OwnedDescriptor(opening: "\(directory)/records", flags: O_RDWR)
        let command = try prepare(directory, service)
        let program = try Peer.find(command[0]).unwrapped(or: "\(command[0]) is not installed")
        let marker = "WATCHDOGD_PEER=\(UInt64.random(in: 0 ... .max))"
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_WRONLY)
        var request = SpawnRequest(executable: program, arguments: [program] + command.dropFirst())
        request.session = .newSession
        request.environment["WATCHDOGD_PEER"] = String(marker.split(separator: "=")[1])
        request.descriptors = [
            .init(input, as: 0), .init(passesOutput ? records.number : null.number, as: 1), .init(null.number, as: 2),
        ]
        cgroupParent = try? CgroupParent.create(name: "bench-\(getpid())")
        let cgroup = try? cgroupParent?.create(app: "peer")
        request.cgroup = try cgroup?.directory()
        let spawned = try spawn(request)
        process = spawned.process
        containment =
            cgroup.flatMap { spawned.cgroupRefusal == nil ? .cgroup($0) : nil }
            ?? .processTree(ProcessTree(root: spawned.pid, startTime: spawned.startTime ?? 0, marker: marker))
    }

    deinit {
        let deadline = Instant.now() + .seconds(10)
        repeat {
            try? containment.kill()
            usleep(5_000)
            _ = Subreaper.reapOrphans(except: [])
        } while !containment.isEmpty && Instant.now() < deadline
        if case .cgroup(let cgroup) = containment { try? cgroup.remove() }
        try? cgroupParent?.remove()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Services write to another FIFO from now on.
    func follow(_ path: String) throws {
        records = try OwnedDescriptor(opening: path, flags: O_RDWR)
    }

    /// Waits for the end of what was started, if it ends by itself.
    func awaitEnd() {
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 20_000)
    }

    func processes() -> [Int32] { containment.processes() }

    func isService(_ pid: Int32) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) == service
    }

    /// The next service that began to run.
    func nextRecord() throws -> Record { try Record.next(from: records) }

    /// Waits for a file that only the peer can create.
    func wait(for what: String, _ condition: () -> Bool) throws {
        let deadline = Instant.now() + .seconds(30)
        while !condition() {
            guard Instant.now() < deadline, !process.hasExited else { throw Failure("\(what) did not come") }
            usleep(2_000)
        }
    }
}

extension Record {
    /// Waits for the next record for as long as any service may take.
    static func next(from pipe: OwnedDescriptor, patience: Duration = .seconds(30)) throws -> Record {
        var entry = pollfd(fd: pipe.number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Int32(patience.milliseconds)) == 1 else {
            throw Failure("no service began to run for \(patience)")
        }
        return try read(from: pipe)
    }
}
