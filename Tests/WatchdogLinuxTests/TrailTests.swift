// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The trail of a wait across processes", .reapsChildren)
final class TrailTests {
    private let folder: String

    init() throws { folder = try makeTemporaryDirectory() }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func addresses() -> [String] { ["\(folder)/socket", "tcp:\(folder)/port"] }

    // MARK: - One hop

    @Test("a client's wait for a reply leads to the process that accepted its connection", arguments: [0, 1])
    func reply(kind: Int) throws {
        let address = addresses()[kind]
        let server = try TrailSubject("s = listen(sys.argv[1]); c, _ = s.accept(); c.recv(1); pause()", address)
        let client = try TrailSubject("ask(sys.argv[1])", address)
        // The server is runnable for a moment after it has accepted, and after it has read.
        let trail = client.trail { trail in
            trail.hops.first.map { $0.link == .reply && $0.wait != nil && $0.state == .sleeping && !$0.isIdle } ?? false
        }
        let hop = try #require(trail.hops.first)
        #expect(trail.hops.count == 1 && trail.cycleStart == nil && !trail.isCut)
        #expect(hop.process == server.pid && hop.link == .reply && hop.sight == .whole && !hop.isIdle)
        #expect(hop.thread == server.pid && hop.state == .sleeping)
    }

    @Test("a connection that nobody accepts leads to the listening process", arguments: [0, 1])
    func acceptance(kind: Int) throws {
        let address = addresses()[kind]
        let server = try TrailSubject("s = listen(sys.argv[1]); pause()", address)
        let client = try TrailSubject("ask(sys.argv[1])", address)
        let trail = client.trail { !$0.hops.isEmpty }
        let hop = try #require(trail.hops.first)
        #expect(hop.process == server.pid && hop.link == .acceptance && !hop.isIdle)
    }

    @Test("a client that cannot send leads to the process that does not read")
    func room() throws {
        let address = "\(folder)/socket"
        let server = try TrailSubject("s = listen(sys.argv[1]); c, _ = s.accept(); pause()", address)
        let client = try TrailSubject("c = connect(sys.argv[1])\nwhile True: c.send(b'x' * 65536)", address)
        let trail = client.trail { $0.hops.first?.link == .room }
        #expect(trail.hops.map(\.process) == [server.pid] && trail.hops.map(\.link) == [.room])
    }

    @Test("a pipe leads to its reader and to its writer")
    func pipes() throws {
        let fork = "r, w = os.pipe()\nif os.fork() == 0:\n    "
        let reader = try TrailSubject(fork + "os.close(r); pause()\nos.close(w); os.read(r, 1)")
        let output = reader.trail { $0.hops.first?.link == .output }
        #expect(output.hops.map(\.process) == Procfs.children(of: reader.pid))
        let writer = try TrailSubject(fork + "os.close(w); pause()\nos.close(r)\nwhile True: os.write(w, b'x' * 65536)")
        let drain = writer.trail { $0.hops.first?.link == .drain }
        #expect(drain.hops.map(\.process) == Procfs.children(of: writer.pid))
    }

    @Test("the lock of an open file leads to the child that has the file open")
    func lockOfOpenFile() throws {
        let subject = try TrailSubject(
            """
            import struct
            lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            file = open(sys.argv[1], "w")
            if os.fork() == 0:
                other = open(sys.argv[1], "r+")
                fcntl.fcntl(other, fcntl.F_OFD_SETLK, lock)
                mark(sys.argv[2])
                pause()
            await_(sys.argv[2])
            fcntl.fcntl(file, fcntl.F_OFD_SETLKW, lock)
            """, "\(folder)/lock", "\(folder)/held")
        var wait: Wait?
        let isFound = eventually {
            let look = WaitLook(budget: .seconds(10)) { [subject.pid] + Procfs.children(of: subject.pid) }
            wait = look.chain(process: subject.pid)?.waits.first
            return wait?.holder != nil
        }
        #expect(isFound, "\(String(describing: wait))")
        #expect(wait?.holder?.relation == .locks)
        #expect(wait?.holder?.process == Procfs.children(of: subject.pid).first)
    }

    @Test("a file lock leads to its holder", arguments: ["flock", "lockf"])
    func fileLocks(call: String) throws {
        let lock = "f = open(sys.argv[1], 'w'); fcntl.\(call)(f, fcntl.LOCK_EX); "
        let holder = try TrailSubject(lock + "mark(sys.argv[2]); pause()", "\(folder)/file", "\(folder)/held")
        let waiter = try TrailSubject("await_(sys.argv[2]); " + lock, "\(folder)/file", "\(folder)/held")
        let trail = waiter.trail { !$0.hops.isEmpty }
        #expect(trail.hops.map(\.process) == [holder.pid])
        #expect(trail.hops.map(\.link) == [call == "flock" ? .fileLock : .recordLock])
    }

    @Test("a wait for a child leads to the child")
    func child() throws {
        let parent = try TrailSubject("pid = os.fork()\nif pid == 0: pause()\nos.waitpid(pid, 0)")
        let trail = parent.trail { $0.hops.first?.link == .child && $0.hops.first?.wait != nil }
        #expect(trail.hops.map(\.process) == Procfs.children(of: parent.pid))
    }

    @Test("a file system that does not answer leads to its server")
    func fileServer() throws {
        guard let system = try SilentFileSystem(withoutAnswerTo: "open") else { return }
        let reader = try TrailSubject("open(sys.argv[1])", system.file)
        // A reader dies only after its request has failed.
        defer { withExtendedLifetime(reader) { system.end() } }
        let trail = reader.trail { !$0.hops.isEmpty }
        #expect(trail.hops.map(\.link) == [.fileServer])
        #expect(trail.hops.first?.name == "silent-fuse")
    }

    // MARK: - Servers

    @Test("a server that waits for requests is idle", arguments: ["epoll", "poll", "select"])
    func idle(call: String) throws {
        let loop = """
            s = listen(sys.argv[1]); c, _ = s.accept(); c.recv(1)
            if sys.argv[2] == 'epoll':
                e = select.epoll(); e.register(s, 1); e.register(c, 1); e.poll()
            elif sys.argv[2] == 'poll':
                e = select.poll(); e.register(s, 1); e.register(c, 1); e.poll()
            else: select.select([s, c], [], [])
            """
        let server = try TrailSubject(loop, "\(folder)/socket", call)
        let client = try TrailSubject("ask(sys.argv[1])", "\(folder)/socket")
        let trail = client.trail { $0.hops.first?.isIdle == true }
        #expect(trail.hops.map(\.process) == [server.pid] && trail.hops.map(\.isIdle) == [true])
        #expect(trail.cycleStart == nil)
    }

    @Test("a server that waits for others and not for what a client has sent is not idle")
    func neglected() throws {
        let server = try TrailSubject("s = listen(sys.argv[1]); c, _ = s.accept(); s.accept()", "\(folder)/socket")
        let client = try TrailSubject("ask(sys.argv[1])", "\(folder)/socket")
        let trail = client.trail { $0.hops.first.map { $0.link == .reply && $0.wait != nil } ?? false }
        #expect(trail.hops.map(\.process) == [server.pid] && trail.hops.map(\.isIdle) == [false])
    }

    @Test("a trail ends at a stopped process, whatever that waited for")
    func stopped() throws {
        let script = """
            r, w = os.pipe()
            pid = os.fork()
            if pid == 0: os.close(w); os.read(r, 1); pause()
            os.close(r); os.kill(pid, 19)
            while True: os.write(w, b'x' * 65536)
            """
        let subject = try TrailSubject(script)
        let trail = subject.trail { $0.hops.first?.state == .stopped && $0.hops.first?.link == .drain }
        #expect(trail.hops.count == 1 && trail.cycleStart == nil)
    }

    @Test("a loop does not wait for the children that have inherited the pipe through which it wakes itself")
    func wakePipe() throws {
        let script = """
            r, w = os.pipe()
            if os.fork() == 0: pause()
            p = select.poll(); p.register(r, 1); p.poll()
            """
        let subject = try TrailSubject(script)
        let files = OpenFiles()
        let place = WaitLook.Place(process: subject.pid, thread: subject.pid)
        #expect(
            eventually {
                WaitLook.syscall(place).flatMap { BlockedCall(parsing: $0) }?.kind == WD_CALL_POLL
                    && !Procfs.children(of: subject.pid).isEmpty
            })
        let trail = WaitLook(budget: .seconds(10)) { [] }.trail(process: subject.pid, thread: subject.pid, files)
        #expect(trail.hops.isEmpty)
    }

    @Test("of several processes that share a connection, the one that is not idle is chosen")
    func workers() throws {
        let script = """
            s = listen(sys.argv[1]); c, _ = s.accept()
            if os.fork() == 0: c.recv(1); pause()
            e = select.epoll(); e.register(s, 1); e.poll()
            """
        let server = try TrailSubject(script, "\(folder)/socket")
        let client = try TrailSubject("ask(sys.argv[1])", "\(folder)/socket")
        let trail = client.trail { trail in
            trail.hops.first.map { $0.link == .reply && $0.process != server.pid && !$0.isIdle } ?? false
        }
        #expect(trail.hops.map(\.process) == Procfs.children(of: server.pid) && trail.hops.map(\.isIdle) == [false])
    }

    @Test("a server's thread that does not wait for requests is examined")
    func busyThread() throws {
        let script = """
            s = listen(sys.argv[1]); c, _ = s.accept(); c.recv(1)
            f = open(sys.argv[2], 'w')
            threading.Thread(target=lambda: fcntl.flock(f, fcntl.LOCK_EX)).start()
            e = select.epoll(); e.register(s, 1); e.poll()
            """
        let lock = "f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); mark(sys.argv[2]); pause()"
        let holder = try TrailSubject(lock, "\(folder)/file", "\(folder)/held")
        let server = try TrailSubject(
            "await_(sys.argv[3])\n" + script, "\(folder)/socket", "\(folder)/file", "\(folder)/held")
        let client = try TrailSubject("ask(sys.argv[1])", "\(folder)/socket")
        let trail = client.trail { $0.hops.count == 2 }
        #expect(trail.hops.map(\.process) == [server.pid, holder.pid])
        #expect(trail.hops.first?.thread != server.pid)
    }

    // MARK: - Chains

    /// Each process holds the lock with its number, and waits for the next one.
    private func chain(of count: Int, closed: Bool = false) throws -> [TrailSubject] {
        let script = """
            n, count, folder, closed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == '1'
            own = open(f'{folder}/{n}', 'w'); fcntl.flock(own, fcntl.LOCK_EX); mark(f'{folder}/held{n}')
            for other in range(count): await_(f'{folder}/held{other}')
            if n + 1 == count and not closed: pause()
            fcntl.flock(open(f'{folder}/{(n + 1) % count}', 'w'), fcntl.LOCK_EX)
            """
        return try (0..<count).map {
            try TrailSubject(script, "\($0)", "\(count)", folder, closed ? "1" : "0")
        }
    }

    @Test("a chain leads to the process that does not wait for another one", arguments: [2, 3, 5])
    func chains(length: Int) throws {
        let chain = try chain(of: length + 1)
        let trail = chain[0].trail { $0.hops.count == length && $0.hops.last?.wait != nil }
        #expect(trail.hops.map(\.process) == chain.dropFirst().map(\.pid))
        #expect(!trail.isCut && trail.cycleStart == nil)
    }

    @Test("six processes are one too many")
    func cut() throws {
        let chain = try chain(of: WaitTrail.longest + 2)
        let trail = chain[0].trail { $0.isCut }
        #expect(trail.isCut && trail.hops.map(\.process) == chain.dropFirst().dropLast().map(\.pid))
    }

    @Test("two processes that wait for each other are a cycle")
    func cycle() throws {
        let chain = try chain(of: 2, closed: true)
        let trail = chain[0].trail { $0.cycleStart != nil }
        #expect(trail.cycleStart == 0 && trail.closing == .fileLock)
        #expect(trail.hops.map(\.process) == [chain[1].pid])
    }

    @Test("a client waits for a proxy, which waits for a server, which waits for a lock")
    func mixed() throws {
        let lock = "f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); mark(sys.argv[2]); pause()"
        let holder = try TrailSubject(lock, "\(folder)/file", "\(folder)/held")
        let server = try TrailSubject(
            "await_(sys.argv[3]); s = listen(sys.argv[1]); c, _ = s.accept(); c.recv(1); "
                + "fcntl.lockf(open(sys.argv[2], 'w'), fcntl.LOCK_EX)",
            addresses()[1], "\(folder)/file", "\(folder)/held")
        let proxy = try TrailSubject(
            "s = listen(sys.argv[1]); c, _ = s.accept(); c.recv(1); ask(sys.argv[2])", addresses()[0], addresses()[1])
        let client = try TrailSubject("ask(sys.argv[1])", addresses()[0])
        let trail = client.trail { $0.hops.count == 3 }
        #expect(trail.hops.map(\.process) == [proxy.pid, server.pid, holder.pid])
        #expect(trail.hops.map(\.link) == [.reply, .reply, .recordLock])
    }

    // MARK: - Rights

    @Test("details that the app's user may not read are omitted", .enabled(if: getuid() == 0, "needs root"))
    func outside() throws {
        try #require(chmod(folder, 0o777) == 0)
        let holder = try TrailSubject(
            "f = open(sys.argv[1], 'w'); os.chmod(sys.argv[1], 0o666); fcntl.flock(f, fcntl.LOCK_EX); mark(sys.argv[2]); "
                + "pause()", "\(folder)/file", "\(folder)/held")
        let waiter = try TrailSubject(
            "await_(sys.argv[2]); fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)", "\(folder)/file", "\(folder)/held",
            user: 65_534)
        let trail = waiter.trail { !$0.hops.isEmpty }
        let hop = try #require(trail.hops.first)
        #expect(hop.process == holder.pid && hop.sight == .outside && hop.wait == nil)
    }

    @Test("a trail survives encoding")
    func message() throws {
        let chain = try chain(of: 3)
        let trail = chain[0].trail { $0.hops.count == 2 }
        var fields = ExaminerFields()
        trail.write(to: &fields)
        #expect(WaitTrail(reading: &fields) == trail)
        var wrong = ExaminerFields()
        wrong.append(9)
        #expect(WaitTrail(reading: &wrong) == nil)
    }
}

@Suite("Permission to read a process")
struct TraceRightsTests {
    private func rights(
        _ users: String = "1000\t1000\t1000\t1000", _ groups: String = "1000\t1000\t1000\t1000",
        capabilities: String = "0000000000000000", owner: UInt32 = 1000
    ) throws -> TraceRights {
        let text = "Name:\tweb\nUid:\t\(users)\nGid:\t\(groups)\nCapPrm:\t\(capabilities)\n"
        return try #require(TraceRights(parsing: Array(text.utf8), owner: owner))
    }

    @Test("a user may read its own processes, unless they changed credentials, and root may read all")
    func rule() throws {
        let own = try rights()
        #expect(own.mayRead(own))
        #expect(!own.mayRead(try rights("1001\t1001\t1001\t1001", owner: 1001)))
        #expect(!own.mayRead(try rights("1000\t1000\t0\t1000")))
        #expect(!own.mayRead(try rights("1000\t1000\t1000\t1000", "1000\t27\t27\t27")))
        #expect(!own.mayRead(try rights(capabilities: "0000000000003000")))
        // A program that changed its user, or that its user may only execute.
        #expect(!own.mayRead(try rights(owner: 0)))
        let root = try rights("0\t0\t0\t0", "0\t0\t0\t0", owner: 0)
        #expect(root.mayRead(own) && !own.mayRead(root))
    }

    @Test("a status without one of the lines is rejected")
    func malformed() {
        #expect(TraceRights(parsing: Array("Uid:\t1\t1\t1\t1\nCapPrm:\t0\n".utf8), owner: 1) == nil)
        #expect(TraceRights(parsing: Array("Uid:\t1\nGid:\t1\t1\t1\t1\nCapPrm:\t0\n".utf8), owner: 1) == nil)
    }
}
