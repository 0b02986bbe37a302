// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// From the request to start a program to its first instruction.
struct Launch {
    private static let count = 300
    private static let goal = Page.Goal(median: 0.6)

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Request to first instruction")
        var samples = [Sample(), Sample(), Sample()]
        let parent: CgroupParent?
        let refusal: String
        do {
            parent = try CgroupParent.create()
            refusal = ""
        } catch {
            parent = nil
            refusal = "\(error)"
        }
        defer { try? parent?.remove() }
        for index in 0..<Self.count {
            samples[0].add(try withPosixSpawn())
            samples[1].add(try withSpawn(nil, index))
            if let parent { samples[2].add(try withSpawn(parent, index)) }
        }
        page.row("posix_spawn", samples[0])
        page.row("spawn without a cgroup", samples[1])
        if parent == nil {
            page.note("spawn into a new cgroup: skipped, \(refusal)")
        } else {
            page.row("spawn into a new cgroup", samples[2], goal: Self.goal)
        }
    }

    private func withPosixSpawn() throws -> Duration {
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        let started = Instant.now()
        let pid = try posixSpawn(bench.subject("stamp"), [], output: writeEnd.number)
        let record = try Record.read(from: readEnd)
        waitpid(pid, nil, 0)
        return record.time - started
    }

    /// With a parent, the time contains making and opening the cgroup, and not removing it.
    private func withSpawn(_ parent: CgroupParent?, _ index: Int) throws -> Duration {
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        let started = Instant.now()
        let cgroup = try parent?.create(app: "stamp-\(index)")
        var request = SpawnRequest(executable: bench.subject("stamp"), arguments: ["stamp"])
        request.descriptors = [.init(writeEnd.number, as: 1)]
        request.cgroup = try cgroup?.directory()
        let spawned = try spawn(request)
        let record = try Record.read(from: readEnd)
        if let refusal = spawned.cgroupRefusal { throw Failure("the cgroup was refused: \(refusal)") }
        var entry = pollfd(fd: spawned.process.descriptor.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, -1)
        _ = try spawned.process.waitExit()
        try cgroup?.remove()
        return record.time - started
    }
}

/// Starts a program with posix_spawn(3), the environment inherited.
func posixSpawn(_ program: String, _ arguments: [String], output: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    var strings: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
    strings.append(nil)
    defer { for string in strings { free(string) } }
    var pid: pid_t = 0
    let error = posix_spawn(&pid, program, &actions, nil, strings, environ)
    guard error == 0 else { throw Failure("cannot start \(program): \(String(cString: strerror(error)))") }
    return pid
}
