// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The wait of a blocked thread", .reapsChildren)
struct WaitLookTests {
    // MARK: - Locks in memory

    @Test(
        "a lock is named with the thread that holds it",
        arguments: [
            ("normal", "mutex"), ("recursive", "recursive mutex"), ("errorcheck", "error-checking mutex"),
            ("robust", "robust mutex"), ("inherit", "priority-inheritance mutex"), ("writer", "read-write lock"),
        ]
    )
    func holder(how: String, object: String) throws {
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits.count == 2 && $0.waits[0].holder?.name == "holder" })
        #expect(chain.waits[0].subject == object)
        let holder = try #require(chain.waits[0].holder)
        #expect(holder.relation == .holds && holder.process == subject.pid && holder.thread != subject.pid)
        #expect(chain.waits[0].sources.contains { $0.hasPrefix("process_vm_readv(2)") })
        // The nearest lookalike of a deadlock: the holder is only slow.
        #expect(chain.cycleStart == nil)
        #expect(chain.waits[1].holder == nil)
        #expect(chain.waits[1].thread == holder.thread)
    }

    @Test("two threads that wait for each other's mutex are a deadlock")
    func deadlock() throws {
        let subject = try WaitSubject("deadlock")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        #expect(chain.cycleStart == 0)
        #expect(chain.waits.count == 2)
        #expect(chain.waits[1].holder?.thread == subject.pid)
    }

    @Test("a mutex taken twice by one thread is a deadlock of one")
    func deadlockOfOne() throws {
        let subject = try WaitSubject("self")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        #expect(chain.waits.count == 1 && chain.cycleStart == 0)
        #expect(chain.waits[0].holder?.thread == subject.pid)
    }

    @Test("a wait without a recorded holder names none", arguments: ["semaphore", "condition", "readers"])
    func noHolder(how: String) throws {
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits[0].subject.hasPrefix("word at 0x") })
        #expect(chain.waits.count == 1)
        #expect(chain.waits[0].holder == nil)
        #expect(chain.cycleStart == nil)
    }

    @Test("a join waits for the exit of a thread")
    func join() throws {
        let subject = try WaitSubject("join")
        let chain = try #require(subject.chain { $0.waits[0].holder != nil })
        #expect(chain.waits[0].holder?.relation == .ends)
        #expect(chain.waits[0].holder?.name == "holder")
    }

    @Test("a thread that joins one that waits for its mutex is in a deadlock")
    func deadlockByJoining() throws {
        let subject = try WaitSubject("joindeadlock")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        #expect(chain.cycleStart == 0)
        #expect(chain.waits.map(\.holder?.relation) == [.ends, .holds])
    }

    @Test("a mutex names its owner even after that has exited")
    func endedOwner() throws {
        let subject = try WaitSubject("ended")
        let chain = try #require(subject.chain { $0.waits[0].subject.hasPrefix("mutex") })
        #expect(chain.waits[0].subject.contains(#/^mutex held by thread \d+, which has ended$/#))
        #expect(chain.waits[0].holder == nil)
    }

    @Test(
        "a mutex shared by processes names its holder",
        arguments: [("shared", ProcessStat.State.sleeping), ("sharedstopped", .stopped)])
    func sharedMutex(how: String, state: ProcessStat.State) throws {
        let subject = try WaitSubject(how)
        let chain = try #require(
            subject.chain { $0.waits[0].holder?.name == "kid" && $0.waits[0].holder?.state == state })
        #expect(chain.waits[0].subject == "mutex")
        #expect(chain.waits[0].holder?.relation == .holds)
        #expect(chain.waits[0].holder?.process != subject.pid)
    }

    @Test("the lock of a stream of standard I/O names its owner")
    func stream() throws {
        let subject = try WaitSubject("stream")
        let chain = try #require(subject.chain { $0.waits[0].holder?.name == "writer" })
        #expect(chain.waits[0].subject == "lock of a standard I/O stream")
        #expect(chain.waits[0].holder?.relation == .holds && chain.waits.count == 2)
    }

    @Test("a mutex that a thread of the parent held at the fork names that thread")
    func forked() throws {
        let subject = try WaitSubject("forked")
        let pattern = #/^mutex held by thread \d+ "holder" of the parent since before the fork$/#
        let chain = try #require(subject.chain { $0.waits.last?.subject.contains(pattern) == true })
        #expect(chain.waits.count == 2)
        #expect(chain.waits[1].holder == nil)
    }

    // MARK: - Files

    @Test("a FIFO is reported with the process at its other end")
    func endOfFIFO() throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("fiforeader", "\(folder)/queue")
            let text = ": \(folder)/queue (fifo), other end in pid "
            let chain = try #require(subject.chain { $0.waits[0].subject.hasSuffix(" \"kid\"") })
            #expect(chain.waits[0].subject.contains(text))
        }
    }

    @Test("a file that another process has leased names that process")
    func lease() throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("lease", "\(folder)/catalog")
            let chain = try #require(subject.chain { $0.waits[0].holder?.name == "kid" })
            #expect(chain.waits[0].subject == "\(folder)/catalog")
            #expect(chain.waits[0].holder?.relation == .locks)
            #expect(chain.waits[0].sources.last == "/proc/locks")
        }
    }

    @Test("a lock whose owner has ended belongs to the heir of the open file", arguments: [true, false])
    func heir(isOfApp: Bool) throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("inherited", "\(folder)/catalog")
            let chain = try #require(subject.chain { $0.waits[0].holder?.name == "heir" })
            let heir = try #require(chain.waits[0].holder?.process)
            defer { kill(heir, SIGKILL) }
            #expect(chain.waits[0].holder?.relation == .locks)
            let look = WaitLook(budget: .seconds(10)) { isOfApp ? [subject.pid, heir] : [] }
            let alone = try #require(
                look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall))
            #expect(alone.waits[0].holder == chain.waits[0].holder)
        }
    }

    @Test("a connection that nobody accepts is reported with the name of the socket")
    func unaccepted() throws {
        try withTemporaryDirectory { folder in
            let path = "\(folder)/socket"
            let subject = try WaitSubject("unaccepted", path)
            let text = ": Unix socket \(path), not accepted yet, nothing to read"
            let chain = try #require(subject.chain { $0.waits[0].subject.hasSuffix(text) })
            #expect(chain.waits[0].peer == path)
        }
    }

    @Test("a pipe is reported with the process at its other end")
    func pipe() throws {
        let subject = try WaitSubject("pipe")
        let chain = try #require(subject.chain { $0.waits[0].subject.contains("\"kid\"") })
        #expect(chain.waits[0].subject.contains(#/^fd \d+: pipe, other end in pid \d+ "kid"$/#))
    }

    @Test("a FIFO is reported by its path")
    func fifo() throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("fifo", "\(folder)/queue")
            let chain = try #require(subject.chain { $0.waits[0].subject.hasSuffix("(fifo)") })
            #expect(chain.waits[0].subject.hasSuffix(": \(folder)/queue (fifo)"))
        }
    }

    @Test("a FIFO that nobody else opens is reported by the path in the call")
    func opening() throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject("opens", "\(folder)/queue")
            let chain = try #require(subject.chain { $0.waits[0].subject.hasPrefix("\(folder)/queue (") })
            #expect(chain.waits[0].subject == "\(folder)/queue (fifo that nobody opens for writing)")
            #expect(chain.waits[0].holder == nil)
        }
    }

    @Test(
        "a path on a file system that does not answer is reported with its mount point",
        arguments: [
            ("stat", "lookup"), ("statx", "lookup"), ("access", "lookup"), ("chdir", "lookup"), ("unlink", "lookup"),
            ("readlink", "lookup"), ("mkdir", "lookup"), ("rmdir", "lookup"), ("truncate", "lookup"),
            ("execve", "lookup"), ("rename", "lookup"), ("fstatat", "lookup"), ("faccessat", "lookup"),
            ("relative", "lookup"), ("fstat", "getattr"),
        ])
    func silentFileSystem(call: String, request: String) throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: request) else { return }
        let subject = try WaitSubject("call", fileSystem.file, call)
        let place = "on fuse at \(fileSystem.directory)"
        let text: String =
            switch call {
            case "rename": "\(fileSystem.file) \(place) and other in fd 3: \(fileSystem.directory) \(place)"
            case "fstatat", "faccessat": "file in fd 3: \(fileSystem.directory) \(place)"
            case "relative": "file \(place)"
            case "fstat": "fd 4: \(fileSystem.file) \(place)"
            default: "\(fileSystem.file) \(place)"
            }
        // A request that the server has read blocks its process, even against SIGKILL.
        defer {
            fileSystem.end()
            withExtendedLifetime(subject) {}
        }
        let chain = try #require(subject.chain { $0.waits[0].subject == text })
        #expect(chain.waits[0].subject == text)
        #expect(chain.waits[0].sources.contains("/proc/\(subject.pid)/mountinfo"))
    }

    @Test("the paths of each call are read from the right arguments")
    func pathArguments() throws {
        #if arch(x86_64)
            // The numbers are listed in arch/x86/entry/syscalls/syscall_64.tbl.
            let calls: [(numbers: [Int], paths: [Int])] = [
                // open stat lstat access execve truncate chdir mkdir rmdir creat unlink readlink chmod chown lchown utime
                // mknod statfs chroot umount2 utimes; xattrs
                ([2, 4, 6, 21, 59, 76, 80, 83, 84, 85, 87, 89, 90, 92, 94, 132, 133, 137, 161, 166, 235], [0]),
                ([188, 189, 191, 192, 194, 195, 197, 198], [0]),
                // symlink mount inotify_add_watch; openat and others with a descriptor before the path
                ([88, 165, 254, 257, 258, 259, 260, 261, 262, 263, 267, 268, 269, 280, 303, 322, 332, 437, 439], [1]),
                // symlinkat; rename link; renameat linkat renameat2
                ([266], [2]), ([82, 86], [0, 1]), ([264, 265, 316], [1, 3]),
            ]
            let place = WaitLook.Place(process: getpid(), thread: getpid())
            for (numbers, paths) in calls {
                for number in numbers {
                    // One page each, because the memory after a path may not be mapped.
                    let texts = (0..<4).map { _ in mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_PRIVATE | 0x20, -1, 0) }
                    defer { for text in texts { munmap(text, 4_096) } }
                    var arguments = [UInt64](repeating: UInt64(UInt32(bitPattern: AT_FDCWD)), count: 6)
                    for path in paths {
                        let text = try #require(texts[path])
                        strcpy(text.assumingMemoryBound(to: CChar.self), "name\(path)")
                        arguments[path] = UInt64(UInt(bitPattern: text))
                    }
                    let fields = arguments.map { "0x" + String($0, radix: 16) }.joined(separator: " ")
                    let call = try #require(BlockedCall(parsing: "\(number) \(fields) 0x0 0x0"))
                    let expected = paths.map { "name\($0)" }.joined(separator: " and ")
                    // While another thread of this process is in uninterruptible sleep, its memory is not read.
                    var subject = ""
                    _ = eventually {
                        subject = WaitLook(budget: .seconds(10)) { [] }.named(call, place).subject
                        return !subject.isEmpty
                    }
                    #expect(subject == expected, "system call \(number)")
                }
            }
        #endif
    }

    @Test("sockets are reported with both addresses and the unread bytes")
    func sockets() throws {
        let address = #"127\.0\.0\.1:\d+"#
        for (how, pattern) in [
            ("tcp", "^fd \\d+: TCP \(address) → \(address), ESTABLISHED, nothing to read$"),
            ("accept", "^fd \\d+: TCP \(address), LISTEN, no connection to accept$"),
            ("mptcp", "^fd \\d+: TCP \(address) → \(address), ESTABLISHED, nothing to read$"),
            ("mptcpaccept", "^fd \\d+: TCP \(address), LISTEN, no connection to accept$"),
            (
                "accepted",
                "^fd \\d+: TCP \(address) → \(address), ESTABLISHED, nothing to read, other end in pid \\d+ \"kid\"$"
            ),
            ("udp", "^fd \\d+: UDP \(address) → \(address), nothing to read$"),
            ("unix", "^fd \\d+: Unix socket, other end in pid \\d+ \"kid\", nothing to read$"),
        ] {
            let subject = try WaitSubject(how)
            let regex = try Regex(pattern)
            let wait = subject.chain { $0.waits[0].subject.contains(regex) }?.waits[0]
            #expect(wait?.subject.contains(regex) == true, "\(how): \(wait?.subject ?? "nothing")")
            #expect(wait?.peer == Self.peer(in: wait?.subject ?? ""), "\(how)")
        }
    }

    /// What follows the arrow, which is the other end's address.
    private static func peer(in subject: String) -> String? {
        subject.firstMatch(of: #/→ (?<peer>[^ ,]+)/#).map { String($0.peer) }
    }

    @Test(
        "a call that sends, connects or moves data is reported by what it waits for",
        arguments: [
            ("connect", #"^fd \d+: TCP 127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+, SYN_SENT$"#),
            ("polled-connect", #"^fd \d+: TCP 127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+, SYN_SENT$"#),
            ("send", #"^fd \d+: TCP \S+ → \S+, ESTABLISHED, \d+ bytes not acknowledged$"#),
            ("unixsend", #"^fd \d+: Unix socket, other end in pid \d+ "kid", which does not read$"#),
            ("splice", #"^fd \d+: pipe, other end in this process and fd \d+: pipe, other end in this process$"#),
            ("stoppedpipe", #"^fd \d+: pipe, other end in pid \d+ "(kid|waits)", which is stopped$"#),
            ("semaphores", #"^semaphore \d+ of System V semaphore set \d+"#),
        ])
    func purposes(how: String, text: String) throws {
        let pattern = try Regex(text)
        let subject = try WaitSubject(how)
        let wait = subject.chain { $0.waits[0].subject.contains(pattern) }?.waits[0]
        #expect(wait?.subject.contains(pattern) == true, "\(wait?.subject ?? "nothing")")
        #expect(wait?.peer == Self.peer(in: wait?.subject ?? ""))
    }

    @Test("a connecting socket is found in a filtered list, not in the table of all sockets")
    func connecting() throws {
        let subject = try WaitSubject("polled-connect")
        let chain = try #require(subject.chain { $0.waits[0].subject.hasSuffix(", SYN_SENT") })
        #expect(chain.waits[0].sources.contains("sock_diag(7) INET_DIAG"))
        #expect(!chain.waits[0].sources.contains { $0.hasSuffix("/net/tcp") })
    }

    @Test("a socket describes itself, so that others cost nothing", arguments: ["tcp", "accept", "udp"])
    func socketWithoutBudget(how: String) throws {
        let subject = try WaitSubject(how)
        let queue = #/, (?:nothing to read|no connection to accept)$/#
        let chain = try #require(subject.chain { $0.waits[0].subject.contains(queue) })
        let look = WaitLook(budget: .zero) { [] }
        let wait = try #require(
            look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall)?.waits.first)
        #expect(wait.subject.contains("127.0.0.1:"), "\(wait.subject)")
    }

    @Test(
        "a wait is reported by its kind",
        arguments: [
            ("eventfd", #"^fd \d+: eventfd$"#),
            ("epoll", #"^fd \d+: epoll of 2 fds: \d+ \(eventfd\), \d+ \(eventfd\)$"#),
            ("reused", #"^fd \d+: epoll of 1 fd: \d+$"#),
            ("nested", #"^fd \d+: epoll of 1 fd: \d+ \(epoll of 1 fd: \d+ \(eventfd\)\)$"#),
            ("poll", #"^fd \d+: eventfd$"#), ("select", #"^2 fds: \d+ \(eventfd\), \d+ \(eventfd\)$"#),
            ("nofiles", #"^no fd$"#),
        ]
    )
    func kinds(how: String, text: String) throws {
        let pattern = try Regex(text)
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits[0].subject.contains(pattern) })
        #expect(chain.waits[0].subject.contains(pattern), "\(chain.waits[0].subject)")
    }

    @Test("a file lock is reported with its file and its holder", arguments: ["flock", "fcntl"])
    func fileLocks(how: String) throws {
        try withTemporaryDirectory { folder in
            let subject = try WaitSubject(how, "\(folder)/catalog")
            // Its name is set before it sleeps.
            let chain = try #require(
                subject.chain { $0.waits[0].holder?.name == "kid" && $0.waits[0].holder?.state == .sleeping })
            #expect(chain.waits[0].subject.hasSuffix(": \(folder)/catalog"))
            #expect(chain.waits[0].holder?.relation == .locks)
            #expect(chain.waits[0].holder?.process != subject.pid)
            #expect(chain.cycleStart == nil)
            // The whole table agrees without the help of the family.
            let look = WaitLook(budget: .seconds(10)) { [] }
            let alone = try #require(
                look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall))
            #expect(alone.waits[0].holder == chain.waits[0].holder)
            #expect(alone.waits[0].sources.contains("/proc/locks"))
        }
    }

    // MARK: - A crowded machine

    @Test("the search for the app's processes does not use the budget", arguments: ["pipe", "unix"])
    func slowFamily(how: String) throws {
        let subject = try WaitSubject(how)
        let chain = try #require(subject.chain { $0.waits[0].subject.contains("\"kid\"") })
        var searches = 0
        let look = WaitLook(budget: WaitLook.usualBudget * 2) {
            searches += 1
            Self.work(for: WaitLook.usualBudget * 3)
            return [subject.pid] + Procfs.children(of: subject.pid)
        }
        let again = look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall)
        #expect(again?.waits[0].subject == chain.waits[0].subject)
        #expect(searches == 1)
    }

    @Test("everything uses the budget except work on the machine's tables, until its reserve is used up")
    func reserve() {
        // The expectations themselves use far less.
        let budget = WorkBudget(.milliseconds(200), reserve: .milliseconds(250))
        #expect(budget.useReserve { !$0.isSpent })
        budget.useReserve { _ in Self.work(for: .milliseconds(300)) }
        #expect(!budget.isSpent)
        #expect(budget.useReserve { $0.isSpent })
        Self.work(for: .milliseconds(200))
        #expect(budget.isSpent)
    }

    private static func work(for amount: Duration) {
        let budget = WorkBudget(amount)
        while !budget.isSpent {}
    }

    // MARK: - Processes

    @Test("an awaited child is reported with its state")
    func children() throws {
        for (how, relation) in [("wait", WaitRelation.child), ("waitany", .anyChild)] {
            let subject = try WaitSubject(how)
            // Its name is set before it sleeps.
            let chain = try #require(
                subject.chain {
                    $0.waits.count == 2 && $0.waits[0].holder?.name == "kid" && $0.waits[0].holder?.state == .sleeping
                })
            #expect(chain.waits[0].holder?.relation == relation)
            #expect(chain.waits[0].holder?.state == .sleeping)
        }
    }

    @Test("a child that has not yet executed a program is reported")
    func startedChildren() throws {
        let vfork = try WaitSubject("vfork")
        let forked = try #require(vfork.chain { $0.waits[0].holder?.name == "kid" && $0.waits.count == 2 })
        #expect(forked.waits[0].holder?.relation == .child)
        let folder = try makeTemporaryDirectory()
        defer {
            unlink("\(folder)/fifo")
            rmdir(folder)
        }
        let spawn = try WaitSubject("spawn", "\(folder)/fifo")
        let spawned = try #require(
            spawn.chain { $0.waits.count == 2 && $0.waits[1].subject.hasPrefix("\(folder)/fifo (") })
        #expect(spawned.waits[0].holder?.relation == .child)
        #expect(spawned.waits[0].holder?.process != spawn.pid)
        #expect(spawned.waits.last?.subject == "\(folder)/fifo (fifo that nobody opens for writing)")
    }

    // MARK: - Honesty

    @Test("a sleep, a continued thread and an exited process have no wait")
    func nothing() throws {
        let subject = try WaitSubject("semaphore")
        let chain = try #require(subject.chain { $0.waits[0].subject.hasPrefix("word at 0x") })
        let look = WaitLook(budget: .seconds(10)) { [] }
        let other = "0 0x7 0x0 0x0 0x0 0x0 0x0 0x0 0x0"
        #expect(look.chain(process: subject.pid, thread: subject.pid, syscall: other) == nil)
        #expect(look.chain(process: .max, thread: .max, syscall: chain.waits[0].syscall) == nil)
        let sleeper = try WaitSubject("sleep")
        #expect(eventually { WaitChannel.read(sleeper.pid, thread: sleeper.pid)?.contains("nanosleep") ?? false })
        let syscall = try #require(WaitLook.syscall(.init(process: sleeper.pid, thread: sleeper.pid)))
        #expect(look.chain(process: sleeper.pid, thread: sleeper.pid, syscall: syscall) == nil)
    }

    @Test("without a budget only the first wait is examined")
    func noBudget() throws {
        let subject = try WaitSubject("deadlock")
        let chain = try #require(subject.chain { $0.cycleStart != nil })
        let look = WaitLook(budget: .zero) { [] }
        let short = look.chain(process: subject.pid, thread: subject.pid, syscall: chain.waits[0].syscall)
        #expect(short?.waits.count == 1)
        #expect(short?.cycleStart == nil)
    }
}
