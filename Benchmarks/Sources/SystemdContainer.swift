// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// A real systemd, in a container that does not touch this machine's files: scripts/container.
final class SystemdContainer {
    /// Why there can be none here.
    static let obstacle: String? = {
        guard let answer = try? run(["/usr/bin/env", "bash", "scripts/container", "check"]) else {
            return "scripts/container does not run"
        }
        return answer.isEmpty ? nil : answer
    }()

    let stage: PeerStage
    /// Its systemd, as this machine counts.
    let pid: Int32
    private let cgroup: String
    private var input: OwnedDescriptor?

    init(_ bench: Bench) throws {
        var output = ""
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        input = writeEnd
        stage = try PeerStage(bench, input: readEnd.number) { directory, _ in
            output = "\(directory)/output"
            return ["bash", "-c", "exec scripts/container boot >\(directory)/output 2>&1"]
        }
        withExtendedLifetime(readEnd) {}
        var cgroup: Substring?
        try stage.wait(for: "a container's cgroup") {
            cgroup = Machine.lines(of: output).first { $0.hasPrefix("cgroup ") }?.dropFirst(7)
            return cgroup != nil
        }
        self.cgroup = String(try cgroup.unwrapped(or: "no cgroup"))
        let scope = "\(self.cgroup)/payload/init.scope/cgroup.procs"
        var first: Int32?
        try stage.wait(for: "systemd in \(self.cgroup)") {
            first = Machine.lines(of: scope).first.flatMap { Int32($0) }
            return first != nil
        }
        pid = try first.unwrapped(or: "no systemd")
        try stage.wait(for: "the end of its start") {
            let state = try? command(["systemctl", "is-system-running"])
            return state == "running" || state == "degraded"
        }
        try install(bench.subject("service"))
    }

    deinit {
        // The end of its standard input is its own; it takes away what it has made.
        input = nil
        stage.awaitEnd()
    }

    /// A path in the container, as this machine reaches it.
    func path(_ path: String) -> String { "/proc/\(pid)/root\(path)" }

    private func install(_ service: String) throws {
        try FileManager.default.createDirectory(atPath: path("/run/bench"), withIntermediateDirectories: true)
        let program = try FileManager.default.contents(atPath: service).unwrapped(or: "\(service) cannot be read")
        try program.write(to: URL(filePath: path("/run/bench/service")))
        guard chmod(path("/run/bench/service"), 0o755) == 0, mkfifo(path("/run/bench/records"), 0o600) == 0 else {
            throw Failure("/run of the container cannot be written")
        }
        for (name, more) in [("bench", ""), ("bench-notify", "notify"), ("bench-push", "push")] {
            let unit = """
                [Unit]
                StartLimitIntervalSec=0
                [Service]
                Type=\(more.isEmpty ? "simple" : "notify")
                ExecStart=/run/bench/service \(more) /run/bench/records
                Restart=always
                RestartSec=0
                WatchdogSec=\(more == "push" ? "10" : "0")

                """
            try Data(unit.utf8).write(to: URL(filePath: path("/run/systemd/system/\(name)@.service")))
        }
        _ = try command(["systemctl", "daemon-reload"])
    }

    /// Runs a command in the container; returns what it prints.
    @discardableResult
    func command(_ arguments: [String]) throws -> String {
        try Self.run(["/usr/bin/nsenter", "--target", "\(pid)", "--all", "--"] + arguments)
    }

    private static func run(_ command: [String]) throws -> String {
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        var request = SpawnRequest(executable: command[0], arguments: command)
        request.descriptors = [
            .init(null.number, as: 0), .init(writeEnd.number, as: 1), .init(null.number, as: 2),
        ]
        let process = try spawn(request).process
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 60_000) == 1 else {
            try? process.send(SIGKILL)
            throw Failure("\(command.joined(separator: " ")) does not end")
        }
        _ = try process.waitExit()
        guard fcntl(readEnd.number, F_SETFL, O_NONBLOCK) == 0 else { throw Failure("no pipe") }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = max(0, read(readEnd.number, &bytes, bytes.count))
        return String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").joined(separator: " ")
    }

    /// The processes of its services, as this machine counts.
    func services() -> [Int32] {
        guard let cgroup = try? Cgroup(opening: cgroup) else { return [] }
        return cgroup.processes().filter { pid in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) == "/run/bench/service"
        }
    }
}

/// Services of the container's systemd.
final class SystemdSession: PeerSession {
    private let container: SystemdContainer
    private let units: [String]
    let stage: PeerStage

    init(_ container: SystemdContainer, _ count: Int, unit: String) throws {
        self.container = container
        units = (0..<count).map { "\(unit)@\($0).service" }
        stage = container.stage
        try stage.follow(container.path("/run/bench/records"))
    }

    deinit {
        _ = try? container.command(["systemctl", "stop", "bench*.service"])
        _ = try? stage.wait(for: "the end of the services") { container.services().isEmpty }
    }

    func startAll() throws {
        try container.command(["systemctl", "start", "--no-block"] + units)
    }

    var command: [String]? {
        ["/usr/bin/nsenter", "--target", "\(container.pid)", "--all", "--", "systemctl", "start"] + units
    }

    func stopAll() throws {
        try container.command(["systemctl", "stop"] + units)
    }

    func process(_ number: Int32) -> Int32? {
        container.services().first { pid in
            let line = Machine.lines(of: "/proc/\(pid)/status").first { $0.hasPrefix("NSpid:") }
            return line?.split(whereSeparator: \.isWhitespace).last.flatMap { Int32($0) } == number
        }
    }

    /// Without its journal and its bus.
    func supervisors() -> [Int32] { [container.pid] }
}
