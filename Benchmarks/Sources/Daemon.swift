// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogVerdict

/// `watchdogd serve` over services that write down when they began to run.
final class Daemon {
    let process: Pidfd
    /// What it was started from.
    let program: String
    private let directory: String
    private let records: OwnedDescriptor
    /// Its control socket.
    var control: String { "\(directory)/control" }

    /// Starts it without services.
    ///
    /// - Parameters:
    ///   - bench: where programs are.
    ///   - isHeard: whether what it says is shown.
    ///   - options: further options of `watchdogd serve`.
    init(_ bench: Bench, isHeard: Bool = true, options: [String] = []) throws {
        directory = bench.freshPath("daemon")
        program = bench.watchdogd
        try FileManager.default.createDirectory(atPath: "\(directory)/apps", withIntermediateDirectories: true)
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        records = readEnd
        let arguments =
            [
                "serve", "--quiet", "--config", "\(directory)/apps", "--control", "\(directory)/control", "--reports",
                bench.reports,
            ] + options
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_WRONLY)
        process = try spawn(
            .underTest(
                bench.watchdogd, arguments, output: writeEnd.number,
                messages: isHeard ? STDERR_FILENO : null.number)
        ).process
        let deadline = Instant.now() + .seconds(20)
        while (try? client) == nil {
            guard Instant.now() < deadline else { throw Failure("watchdogd serve does not answer") }
            usleep(1_000)
        }
    }

    deinit {
        end()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Ends it with its services, however many they are.
    func end() {
        try? process.send(SIGTERM)
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, 60_000) != 1 { try? process.send(SIGKILL) }
        poll(&entry, 1, 5_000)
        _ = try? process.waitExit()
    }

    var client: ControlClient { get throws { try ControlClient(ControlPath(control), patience: .seconds(60)) } }

    /// Writes the files of services.
    func configure(_ count: Int, prefix: String = "service", _ text: String) throws {
        for index in 0..<count {
            try Data(text.utf8).write(to: URL(filePath: "\(directory)/apps/\(prefix)\(index).app"))
        }
    }

    /// Removes the files of services.
    func remove(_ count: Int, prefix: String) throws {
        for index in 0..<count {
            try FileManager.default.removeItem(atPath: "\(directory)/apps/\(prefix)\(index).app")
        }
    }

    /// The next service that began to run.
    func nextRecord(patience: Duration = .seconds(30)) throws -> Record {
        try Record.next(from: records, patience: patience)
    }

    /// How many descriptors it has open.
    func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count
    }

    /// User and system time.
    var cpuTime: Duration {
        let line = Machine.lines(of: "/proc/\(process.pid)/stat").first ?? ""
        let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else { return .zero }
        return .milliseconds((user + system) * 1_000 / Int64(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Its share of memory in MB.
    func proportionalMemory() throws -> Double { try Machine.proportionalMemory(of: process.pid) }
}
