// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// Runs the body with a new cgroup, or prints why there is none.
func withCgroup(_ body: (Cgroup, CgroupParent) throws -> Void) throws {
    let parent: CgroupParent
    do {
        // A separate one, because removing one removes all empty cgroups in it.
        parent = try CgroupParent.create(name: "test-\(getpid())-\(UInt32.random(in: 0 ... .max))")
    } catch {
        print("not tested: \(error)")
        return
    }
    defer { try? parent.remove() }
    let cgroup = try parent.create(app: "test")
    defer {
        try? cgroup.kill()
        _ = eventually { (try? cgroup.remove()) != nil }
    }
    try body(cgroup, parent)
}

@Suite("Containment in a cgroup", .serialized, .reapsChildren)
struct CgroupTests {
    /// A program that forks children into new sessions and waits forever.
    private func tree(in cgroup: Cgroup) throws -> SpawnedProcess {
        let script = """
            import os, signal
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    os.fork()
                    break
            os.write(1, b'x')
            signal.pause()
            """
        var request = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", script])
        request.cgroup = try cgroup.directory()
        let pipe = try OwnedDescriptor.pipe()
        request.descriptors[1].source = pipe.write.number
        let spawned = try spawn(request)
        var started = 0
        var buffer = [UInt8](repeating: 0, count: 16)
        while started < 7, waitReadable(pipe.read) { started += read(pipe.read.number, &buffer, buffer.count) }
        #expect(started == 7)
        return spawned
    }

    @Test("a process is born into it, counted with its descendants, and they all die together")
    func lifeAndDeath() throws {
        try withCgroup { cgroup, _ in
            #expect(cgroup.isPopulated == false)
            let spawned = try tree(in: cgroup)
            #expect(spawned.cgroupRefusal == nil)
            #expect(cgroup.isPopulated == true)
            #expect(cgroup.processes().count == 7)
            #expect(cgroup.processes().contains(spawned.pid))
            let busy = try #require(throws: LinuxError.self) { try cgroup.remove() }
            #expect(busy.errno == .busy)

            let containment = Containment.cgroup(cgroup)
            let survivors = containment.survivors(limit: 5)
            #expect(survivors.count == 5)
            #expect(survivors.allSatisfy { $0.name == "python3" })

            let loop = try EventLoop()
            let events = try #require(containment.events)
            let source = try loop.onReady(events, for: .exceptional, priority: .important) { _ in
                if cgroup.isPopulated == false { loop.exit(code: 0) }
            }
            try containment.kill()
            _ = try loop.run()
            #expect(containment.isEmpty)
            #expect(containment.survivors().isEmpty)
            #expect(try waitForExit(spawned.process)?.status == .signaled(signal: SIGKILL, coreDumped: false))
            withExtendedLifetime(source) {}
        }
    }

    @Test("without cgroup.kill, every process is killed too, each by its pidfd")
    func killWithoutDescriptor() throws {
        try withCgroup { cgroup, _ in
            let spawned = try tree(in: cgroup)
            cgroup.killMembers()
            #expect(try waitForExit(spawned.process)?.status == .signaled(signal: SIGKILL, coreDumped: false))
            #expect(eventually { cgroup.isPopulated == false })
        }
    }

    @Test("a thread that has only the kill descriptor can kill everything")
    func killDescriptor() throws {
        try withCgroup { cgroup, _ in
            let spawned = try tree(in: cgroup)
            guard let kill = cgroup.killDescriptor else { return print("not tested: no cgroup.kill") }
            #expect(write(kill.number, "1", 1) == 1)
            #expect(eventually { cgroup.isPopulated == false })
            _ = try waitForExit(spawned.process)
        }
    }

    @Test("frozen processes do not run, and continue when thawed")
    func freezing() throws {
        try withCgroup { cgroup, _ in
            let script = """
                import signal, os
                # A handler would be lost on the way to pause(2).
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
                os.write(1, b'x')
                while True:
                    signal.sigwait([signal.SIGUSR1])
                    os.write(1, b'u')
                """
            var request = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", script])
            request.cgroup = try cgroup.directory()
            let pipe = try OwnedDescriptor.pipe()
            request.descriptors[1].source = pipe.write.number
            let spawned = try spawn(request)
            var byte: UInt8 = 0
            #expect(waitReadable(pipe.read) && read(pipe.read.number, &byte, 1) == 1)

            let containment = Containment.cgroup(cgroup)
            #expect(cgroup.isFrozen == false)
            try containment.suspend()
            #expect(eventually { cgroup.isFrozen == true })
            containment.send(SIGUSR1)
            var entry = pollfd(fd: pipe.read.number, events: Int16(POLLIN), revents: 0)
            #expect(poll(&entry, 1, 20) == 0)
            try containment.resume()
            #expect(waitReadable(pipe.read) && read(pipe.read.number, &byte, 1) == 1)
            #expect(byte == UInt8(ascii: "u"))
            try containment.kill()
            _ = try waitForExit(spawned.process)
            #expect(eventually { containment.isEmpty })
        }
    }

    @Test("a cgroup that the app made below its own is found, killed and removed too")
    func nested() throws {
        try withCgroup { cgroup, _ in
            let spawned = try tree(in: cgroup)
            let below = "\(cgroup.path)/below"
            #expect(mkdir(below, 0o755) == 0)
            let moved = try #require(cgroup.processes().first { $0 != spawned.pid })
            try WatchdogLinuxTests.write("\(moved)", to: "\(below)/cgroup.procs")
            #expect(cgroup.processes().count == 7)
            try cgroup.kill()
            #expect(eventually { cgroup.isPopulated == false })
            _ = try waitForExit(spawned.process)
            #expect(eventually { (try? cgroup.remove()) != nil })
            #expect(access(cgroup.path, F_OK) != 0)
        }
    }

    @Test("a populated cgroup is not reused for the next launch; an empty one is")
    func names() throws {
        try withCgroup { cgroup, parent in
            let spawned = try tree(in: cgroup)
            let second = try parent.create(app: "test")
            #expect(second.path == "\(cgroup.path)-2")
            try cgroup.kill()
            _ = try waitForExit(spawned.process)
            #expect(eventually { cgroup.isPopulated == false })
            #expect(eventually { (try? parent.create(app: "test"))?.path == cgroup.path })
            try second.remove()
        }
    }

    @Test("a launch continues without a cgroup that rejects it, and reports that")
    func refusal() throws {
        try withCgroup { cgroup, parent in
            let gone = try parent.create(app: "gone")
            var request = shell("exit 0")
            request.cgroup = try gone.directory()
            try gone.remove()
            let spawned = try spawn(request)
            #expect(spawned.cgroupRefusal != nil)
            _ = try waitForExit(spawned.process)
        }
    }

    @Test("without clone3, the child moves to its cgroup before the program runs")
    func moves() throws {
        try withCgroup { cgroup, _ in
            var request = shell("sleep 1000 & exec sleep 1000")
            request.cgroup = try cgroup.directory()
            request.withoutClone3 = true
            let spawned = try spawn(request)
            #expect(spawned.cgroupRefusal == nil && spawned.hasMoved)
            #expect(eventually { cgroup.processes().count == 2 })
            #expect(cgroup.processes().contains(spawned.pid))
            try cgroup.kill()
            _ = try waitForExit(spawned.process)
            #expect(eventually { cgroup.isPopulated == false })
        }
    }

    @Test("cgroups of an ended supervisor are removed; those of a running one are not")
    func leftovers() throws {
        try withCgroup { _, parent in
            // Not beside the parent, because every watchdogd that starts there removes leftovers.
            let own = CgroupParent(path: "\(parent.path)/watchdogd-999999998")
            let dead = "\(parent.path)/watchdogd-999999999"
            let alive = "\(parent.path)/watchdogd-1"
            for made in [own.path, dead, "\(dead)/app", alive] { #expect(mkdir(made, 0o755) == 0) }
            own.removeLeftovers()
            #expect(access(dead, F_OK) != 0)
            #expect(access(alive, F_OK) == 0)
            #expect(access(own.path, F_OK) == 0)
        }
    }
}

@Suite("The location of cgroups")
struct CgroupMountTests {
    private let hybrid = """
        30 24 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
        31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
        32 30 0:28 / /sys/fs/cgroup/uni\\040fied rw,relatime shared:10 master:3 - cgroup2 cgroup2 rw
        """

    @Test("mounts are found with optional fields and escaped names")
    func parsing() {
        let mounts = CgroupMount.parse(mountinfo: hybrid)
        #expect(mounts.map(\.directory) == ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/uni fied"])
        #expect(mounts.map(\.isUnified) == [false, true])
        #expect(mounts[0].controllers?.contains("cpu") == true)
        #expect(mounts[0].cgroup(in: "5:cpu,cpuacct:/a\n0::/b:c\n") == "/a")
        #expect(mounts[1].cgroup(in: "5:cpu,cpuacct:/a\n0::/b:c\n") == "/b:c")
        #expect(mounts[1].cgroup(in: "5:cpu,cpuacct:/a\n") == nil)
        #expect(CgroupMount.parse(mountinfo: "nonsense - cgroup2\n\n1 2 3 - - cgroup2 x y z").isEmpty)
    }

    @Test("a path maps to a directory of the mount, or to nothing")
    func mapping() throws {
        let whole = CgroupMount(directory: "/cg", root: "/", controllers: nil)
        #expect(whole.directory(of: "/") == "/cg")
        #expect(whole.directory(of: "/a/b") == "/cg/a/b")
        #expect(whole.directory(of: "/../x") == nil)
        let part = CgroupMount(directory: "/cg", root: "/docker/1", controllers: nil)
        #expect(part.directory(of: "/docker/1") == "/cg")
        #expect(part.directory(of: "/docker/1/a") == "/cg/a")
        #expect(part.directory(of: "/docker/12") == nil)
    }

    @Test("the reason for missing cgroups is stated")
    func reasons() {
        func reason(_ membership: String, _ mounts: [CgroupMount]) -> String? {
            #expect(throws: CgroupParent.Unavailable.self) {
                try CgroupParent.directory(membership: membership, mounts: mounts)
            }?.description
        }
        let mount = CgroupMount(directory: "/cg", root: "/docker/1", controllers: nil)
        #expect(reason("0::/", []) == "no cgroup2 file system is mounted")
        #expect(reason("1:cpu:/", [mount]) == "this process is in no cgroup2 cgroup")
        #expect(reason("0::/x", [mount]) == "cgroup /x is outside of what is mounted at /cg")
    }

    @Test("any app name is one directory, and never the name of a kernel file")
    func components() {
        #expect(CgroupParent.component("redis-1") == "redis-1")
        #expect(CgroupParent.component("../../etc") == "_.._.._etc")
        #expect(CgroupParent.component("cgroup.procs") == "_cgroup.procs")
        #expect(CgroupParent.component("") == "_")
        #expect(CgroupParent.component("ü\n") == "____")
        #expect(CgroupParent.component(String(repeating: "x", count: 999)).count == 200)
    }

    @Test("a quota anywhere above counts; without one there is nil")
    func throttling() {
        #expect(CPUThrottling.chain(from: "/cg/a/b", to: "/cg") == ["/cg/a/b", "/cg/a", "/cg"])
        #expect(CPUThrottling.chain(from: "/cg", to: "/cg") == ["/cg"])
        let none = Array("usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n".utf8)
        let two = Array("nr_periods 9\nnr_throttled 4\nthrottled_usec 1500\n".utf8)
        let one = Array("nr_periods 9\nnr_throttled 1\nthrottled_time 2000000\n".utf8)
        #expect(CPUThrottling.sum([none]) == nil)
        let sum = CPUThrottling.sum([none, two, one])
        #expect(sum?.throttledTime == .microseconds(3500))
        #expect(sum?.periods == 5)
    }
}

@Suite("Containment without a cgroup")
struct ProcessTreeTests {
    private func stat(_ id: Int32, parent: Int32, session: Int32, start: UInt64 = 1) throws -> ProcessStat {
        let fields = "S \(parent) \(session) \(session) 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 \(start) 0"
        return try #require(ProcessStat(parsing: "\(id) (p\(id)) \(fields)".utf8))
    }

    private func ids(
        _ all: [ProcessStat],
        session: Int32? = 10,
        known: [Int32: UInt64] = [10: 1],
        marked: Set<Int32> = []
    ) -> [Int32] {
        ProcessTree.members(of: all, session: session, known: known, orphansOf: 2) { marked.contains($0.id) }.map(\.id)
    }

    @Test("descendants, the session, and known and marked processes belong to an app; others and the supervisor do not")
    func closure() throws {
        let all = try [
            stat(1, parent: 0, session: 1), stat(2, parent: 1, session: 1),
            stat(10, parent: 2, session: 10), stat(11, parent: 10, session: 10),
            stat(12, parent: 11, session: 12),  // a daemon's session, still a descendant
            stat(13, parent: 2, session: 10),  // an orphan in the session
            stat(14, parent: 2, session: 14),  // an orphan in its own session
            stat(15, parent: 14, session: 14),
            stat(20, parent: 2, session: 20), stat(21, parent: 20, session: 20),
        ]
        #expect(ids(all) == [10, 11, 12, 13])
        #expect(ids(all, marked: [14]) == [10, 11, 12, 13, 14, 15])
        #expect(ids(all, known: [10: 1, 14: 1]) == [10, 11, 12, 13, 14, 15])
        #expect(ids(all, known: [10: 1, 14: 99]) == [10, 11, 12, 13])
        #expect(ids(all, session: nil, known: [:]).isEmpty)
        // A supervisor in the session of its app is not a member, nor are its other apps.
        #expect(ids(all, session: 1, known: [:]) == [1])
    }
}

@Suite("Limits of cgroups")
struct CgroupLimitsTests {
    /// Runs the body with a directory that has a cgroup's limit files.
    ///
    /// This machine may have no controllers.
    private func withDirectory(_ files: [String: String], _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { path in
            for (name, text) in files { try WatchdogLinuxTests.write(text, to: "\(path)/\(name)") }
            try body(path)
        }
    }

    private func text(_ path: String) -> String? {
        Procfs.read(path, limit: 4096).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("each limit is written to its controller's file, in the kernel's units")
    func applied() throws {
        try withDirectory(["cgroup.events": "", "cpu.max": "", "memory.max": "", "pids.max": ""]) { path in
            let cgroup = try Cgroup(opening: path)
            let refusals = cgroup.apply(CgroupLimits(cpuQuota: .milliseconds(1_500), memory: 1 << 30, tasks: 64))
            #expect(refusals.map(\.controller) == [])
            #expect(text("\(path)/cpu.max") == "150000 100000")
            #expect(text("\(path)/memory.max") == "1073741824")
            #expect(text("\(path)/pids.max") == "64")
        }
    }

    @Test("a missing controller is named")
    func missing() throws {
        try withDirectory(["cgroup.events": "", "pids.max": ""]) { path in
            let refusals = try Cgroup(opening: path).apply(CgroupLimits(cpuQuota: .seconds(1), tasks: 5))
            #expect(refusals.map(\.controller) == ["cpu"])
            #expect(refusals.map(\.reason) == ["there is no cpu controller"])
            #expect(text("\(path)/pids.max") == "5")
        }
    }

    @Test("kills by the OOM killer are counted")
    func memoryKills() throws {
        let events = "low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\n"
        try withDirectory(["cgroup.events": "", "memory.events": events]) { path in
            let cgroup = try Cgroup(opening: path)
            #expect(cgroup.memoryKills == 2)
        }
    }
}
