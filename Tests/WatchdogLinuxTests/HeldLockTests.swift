// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The file locks of a process", .reapsChildren)
struct HeldLockTests {
    /// A program that takes a lock, reports that, and waits.
    private func holding(_ script: String, _ arguments: String...) throws -> (SpawnedProcess, OwnedDescriptor) {
        let pipe = try OwnedDescriptor.pipe()
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: [
                "python3", "-c",
                ByteString(
                    "import fcntl, os, signal, sqlite3, struct, sys\n\(script)\nos.write(1, b'x')\nsignal.pause()"),
            ] + arguments.map { ByteString($0) })
        request.descriptors.removeAll { $0.target == 1 }
        request.descriptors.append(.init(pipe.write.number, as: 1))
        let process = try spawn(request)
        try #require(waitReadable(pipe.read))
        return (process, pipe.read)
    }

    private func locks(_ script: String, in directory: String) throws -> [LockedFile] {
        let (process, pipe) = try holding(script, "\(directory)/file")
        defer {
            try? process.process.send(SIGKILL)
            _ = try? waitForExit(process.process)
        }
        return withExtendedLifetime(pipe) { HeldLocks.find(in: [process.pid]) }
    }

    @Test(
        "are found and distinguished, whatever call took them",
        arguments: [
            ("f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX)", LockedFile.Kind.flock, true),
            ("f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_SH)", .flock, false),
            ("f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX)", .process, true),
            (
                "f = open(sys.argv[1], 'w'); fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))",
                .openFile, true
            ),
        ])
    func kinds(script: String, kind: LockedFile.Kind, isExclusive: Bool) throws {
        try withTemporaryDirectory { directory in
            let locks = try locks(script, in: directory)
            #expect(locks.map(\.path) == ["\(directory)/file"])
            #expect(locks.map(\.kind) == [kind])
            #expect(locks.map(\.isExclusive) == [isExclusive])
        }
    }

    @Test("include one that a child inherited from an exited parent")
    func inherited() throws {
        try withTemporaryDirectory { directory in
            let script = """
                f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX)
                child = os.fork()
                if child == 0:
                    signal.pause()
                open(sys.argv[1] + '.pid', 'w').write(str(child))
                """
            let (process, pipe) = try holding(script, "\(directory)/file")
            let child = Procfs.line("\(directory)/file.pid").flatMap { Int32($0) }
            defer {
                if let child { kill(child, SIGKILL) }
                _ = pipe
            }
            try process.process.send(SIGKILL)
            _ = try waitForExit(process.process)
            let locks = HeldLocks.find(in: [try #require(child)])
            #expect(locks.map(\.kind) == [.flock])
        }
    }

    @Test(
        "SQLite's locks are named with their database, during a transaction but not because a log is open",
        arguments: [
            ("delete", "BEGIN IMMEDIATE", true), ("wal", "BEGIN IMMEDIATE", true), ("wal", "SELECT 1", false),
            ("delete", "SELECT 1", false),
        ])
    func sqlite(journal: String, statement: String, isLocked: Bool) throws {
        try withTemporaryDirectory { directory in
            let script = """
                db = sqlite3.connect(sys.argv[1], isolation_level=None)
                db.execute('PRAGMA journal_mode=\(journal)')
                db.execute('CREATE TABLE t (x)')
                db.execute('INSERT INTO t VALUES (1)')
                db.execute('\(statement)')
                """
            let locks = try locks(script, in: directory)
            #expect(Set(locks.map(\.path)) == (isLocked ? ["\(directory)/file"] : []))
            #expect(Set(locks.map(\.kind)) == (isLocked ? [.sqlite] : []))
        }
    }

    @Test("exclude the locks of other processes")
    func others() throws {
        try withTemporaryDirectory { directory in
            let (process, pipe) = try holding(
                "f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX)", "\(directory)/file")
            defer {
                try? process.process.send(SIGKILL)
                _ = try? waitForExit(process.process)
                _ = pipe
            }
            #expect(HeldLocks.find(in: [getpid()]).allSatisfy { $0.path != "\(directory)/file" })
            #expect(HeldLocks.find(in: []) == [])
        }
    }

    @Test("may be among those that a truncated list of locks omits")
    func longTable() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/locks"
            let lines = "1: FLOCK  ADVISORY  WRITE \(getpid()) fe:00:77 0 EOF\n2: OFDLCK ADVISORY  READ"
            try write(lines, to: path)
            func mayHold(_ process: Int32, limit: Int) throws -> Bool {
                HeldLocks.mayHoldLocks([process], in: try OwnedDescriptor(opening: path, flags: O_RDONLY), limit: limit)
            }
            #expect(try mayHold(getpid(), limit: 1 << 20))
            #expect(try !mayHold(.max, limit: 1 << 20))
            #expect(try mayHold(.max, limit: 1))
        }
    }

    @Test("the first byte of a range is read")
    func ranges() {
        let line = Array("4: POSIX  ADVISORY  WRITE 22710 fe:00:5522977 1073741824 1073742335".utf8)
        #expect(FileLock(parsing: line)?.start == 1_073_741_824)
        #expect(FileLock(parsing: line)?.isOnWholeFile == false)
    }
}

@Suite("Suspending a contained app", .reapsChildren)
struct SuspensionTests {
    @Test("stopped processes of a tree count as suspended, and can be resumed")
    func tree() throws {
        let spawned = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "1000"]))
        let containment = Containment.processTree(ProcessTree(root: spawned.pid, startTime: spawned.startTime ?? 0))
        defer {
            try? spawned.process.send(SIGKILL)
            _ = try? waitForExit(spawned.process)
        }
        #expect(!containment.isSuspended)
        try containment.suspend()
        #expect(eventually { containment.isSuspended })
        try containment.resume()
        #expect(eventually { !containment.isSuspended })
        #expect(containment.cpuTime != nil)
        #expect(containment.processes() == [spawned.pid])
    }

    @Test("a frozen cgroup counts as suspended, and its CPU time is known")
    func cgroup() throws {
        try withCgroup { cgroup, _ in
            var request = shell("while :; do :; done")
            request.cgroup = try cgroup.directory()
            let spawned = try spawn(request)
            defer {
                try? spawned.process.send(SIGKILL)
                _ = try? waitForExit(spawned.process)
            }
            let containment = Containment.cgroup(cgroup)
            #expect(eventually { containment.cpuTime ?? .zero > .milliseconds(20) })
            try containment.suspend()
            #expect(eventually { containment.isSuspended })
            // A thread appears frozen a moment before it leaves its CPU.
            #expect(
                eventually {
                    let before = containment.cpuTime
                    usleep(5000)
                    return before != nil && before == containment.cpuTime
                })
            try containment.resume()
            #expect(eventually { !containment.isSuspended })
        }
    }
}
