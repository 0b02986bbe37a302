// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// FUSE files whose flush is never answered, sent by several users, each through a socket that a closer keeps.
private final class Crowd {
    private static let script = """
        import os, socket, sys, time
        file = os.open(sys.argv[1], os.O_RDONLY)
        for number in range(int(sys.argv[2])):
            s = socket.socket(fileno=10 + number)
            for _ in range(int(sys.argv[3])):
                socket.send_fds(s, [b"x"], [file])
        os.write(1, b"!")
        time.sleep(100000)
        """

    let loop: EventLoop
    var closer: Closer?
    /// The indices of the sockets whose messages were removed, in order.
    private(set) var removed: [Int] = []
    private(set) var sockets: [OwnedDescriptor] = []
    private var ends: [OwnedDescriptor] = []
    private var tickets: [Closer.Ticket] = []
    private let owners: [UInt32]
    private(set) var process: Int32
    private let fileSystem: SilentFileSystem
    private let stranger: SpawnedProcess

    /// The first of a thousand user IDs that no other test uses, because a user's leftovers count against it.
    static func someUser() -> UInt32 { UInt32.random(in: 0 ... .max) / 1_000 * 1_000 }

    /// - Parameters:
    ///   - owners: the user of each socket, from `base` on.
    /// - Returns: nil where there is no FUSE.
    init?(owners: [UInt32], from base: UInt32 = Crowd.someUser(), messages: Int) throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "flush") else { return nil }
        self.fileSystem = fileSystem
        self.owners = owners.map { base + $0 }
        loop = try EventLoop()
        let source = try CloserSource.start()
        process = try #require(source.process).pid
        closer = try Closer(source, on: loop)
        for _ in owners {
            var pair: [Int32] = [-1, -1]
            try #require(wd_socket_pair(&pair) == 0)
            sockets.append(OwnedDescriptor(taking: pair[0]))
            ends.append(OwnedDescriptor(taking: pair[1]))
        }
        // This process must not have the file, or its children would block when they close inherited descriptors.
        let output = try OwnedDescriptor.pipe()
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: [
                "python3", "-c", ByteString(Self.script), ByteString(fileSystem.file), ByteString("\(owners.count)"),
                ByteString("\(messages)"),
            ])
        request.descriptors[1].source = output.write.number
        for (index, end) in ends.enumerated() { request.descriptors.append(.init(end.number, as: 10 + Int32(index))) }
        stranger = try spawn(request)
        keepAll()
        try #require(waitReadable(output.read))
    }

    private func keepAll() {
        tickets = zip(sockets, owners).compactMap { closer?.keep($0, for: $1) }
    }

    /// Requests the removal of a socket's next message, and waits for the answer.
    func take(from index: Int) throws {
        closer?.take(tickets[index]) { [unowned self] in removed.append(index) }
        try turn { closer?.regain(tickets[index]) == true }
    }

    func turn(until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, "nothing happened in time")
            _ = try loop.runOnce(limit: .milliseconds(10))
        }
    }

    /// The processes that wait for FUSE.
    var stuck: Int {
        Procfs.children(of: process).flatMap { Procfs.children(of: $0) }
            .count { WaitChannel.read($0, thread: $0) == "request_wait_answer" }
    }

    /// Hands the keeper to another closer, as after the execution of another program.
    func succeed(keeping isKept: Bool) throws {
        let (_, numbers) = try #require(closer?.handedOver)
        let copies = numbers.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
        closer = nil
        let source = try #require(
            CloserSource(handedOver: "\(WD_CLOSER_PROTOCOL) \(copies[0]) \(copies[1]) \(process)"))
        closer = try Closer(source, on: loop)
        if isKept { keepAll() } else { sockets = [] }
        closer?.forgetEarlierSockets()
        try turn { closer?.isBusy == false }
    }

    /// Ends the closer and starts another one, as the next watchdogd does.
    func restart() throws {
        let copies = try sockets.map { try OwnedDescriptor(duplicating: $0.number) }
        // From here on, the closer's descriptors are `/dev/null`.
        closer?.end()
        closer = nil
        var status: Int32 = 0
        try #require(waitpid(process, &status, 0) == process)
        sockets = copies
        let source = try CloserSource.start()
        process = try #require(source.process).pid
        closer = try Closer(source, on: loop)
        keepAll()
    }

    /// Kills the keeper, and waits for the next one.
    func loseKeeper() throws {
        func keeper() -> Int32? { Procfs.children(of: process).first { ProcessStat.read($0)?.name == "wd-closer" } }
        let lost = try #require(keeper())
        try #require(kill(lost, SIGKILL) == 0)
        try turn { keeper().map { $0 != lost } ?? false }
    }

    /// Whether the stranger is the only one that still has a socket.
    func isAbandoned(_ index: Int) -> Bool {
        var entry = pollfd(fd: ends[index].number, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 1 && Int32(entry.revents) & Int32(POLLHUP) != 0
    }

    /// Ends the file system's server, and thereby every process that waits for it.
    func answer() { fileSystem.end() }

    func end() throws {
        fileSystem.end()
        stranger.process.killAndReap()
        sockets = []
        for ticket in tickets { closer?.release(ticket) }
        try turn { closer?.count == 0 }
        closer = nil
        var status: Int32 = 0
        #expect(waitpid(process, &status, 0) == process)
    }
}

@Suite("The number of processes that strangers can block", .reapsChildren)
struct CloserLimitTests {
    @Test("is four per user, whatever the number of sockets, and the next user has four more")
    func ofOneUser() throws {
        guard let crowd = try Crowd(owners: [1, 1, 2], messages: 3) else { return }
        for index in [0, 0, 1, 1] { try crowd.take(from: index) }
        #expect(crowd.removed == [0, 0, 1, 1])
        #expect(eventually { crowd.stuck == 4 })
        try crowd.take(from: 0)
        #expect(crowd.removed.count == 4, "declined")
        try crowd.take(from: 2)
        #expect(crowd.removed == [0, 0, 1, 1, 2])
        #expect(eventually { crowd.stuck == 5 })
        crowd.answer()
        try crowd.turn { crowd.removed == [0, 0, 1, 1, 2, 0] }
        try crowd.end()
    }

    @Test("is 64 in total")
    func ofAll() throws {
        guard let crowd = try Crowd(owners: Array(1...17), messages: 4) else { return }
        for index in 0..<16 {
            for _ in 0..<4 { try crowd.take(from: index) }
        }
        try crowd.take(from: 16)
        // Leftovers of other tests count too.
        #expect((56...64).contains(crowd.removed.count), "the others are declined")
        let removed = crowd.removed.count
        #expect(eventually { crowd.stuck == removed })
        crowd.answer()
        try crowd.turn { crowd.removed.count > removed }
        try crowd.end()
    }

    @Test("does not grow when this process executes another program")
    func afterSuccession() throws {
        guard let crowd = try Crowd(owners: [1, 2], messages: 6) else { return }
        for _ in 0..<4 { try crowd.take(from: 0) }
        #expect(eventually { crowd.stuck == 4 })
        for count in 1...3 {
            try crowd.succeed(keeping: true)
            try crowd.take(from: 0)
            #expect(crowd.removed.count == 3 + count, "declined")
            try crowd.take(from: 1)
            #expect(crowd.removed.count == 4 + count && crowd.removed.last == 1)
        }
        #expect(eventually { crowd.stuck == 7 })
        #expect(!crowd.isAbandoned(0) && !crowd.isAbandoned(1), "kept, and not shut down")
        try crowd.end()
    }

    @Test("does not grow with the next watchdogd, which finds the existing ones")
    func afterRestart() throws {
        guard let crowd = try Crowd(owners: [1, 2], messages: 6) else { return }
        for _ in 0..<4 { try crowd.take(from: 0) }
        #expect(eventually { crowd.stuck == 4 })
        for count in 1...2 {
            try crowd.restart()
            try crowd.take(from: 0)
            #expect(crowd.removed.count == 3 + count, "declined")
            try crowd.take(from: 1)
            #expect(crowd.removed.count == 4 + count && crowd.removed.last == 1)
            #expect(eventually { crowd.stuck == 1 })
        }
        crowd.answer()
        try crowd.turn { crowd.removed.last == 0 }
        try crowd.end()
    }

    @Test("does not grow when a keeper replaces a lost one")
    func afterLoss() throws {
        guard let crowd = try Crowd(owners: [1, 2], messages: 6) else { return }
        for _ in 0..<3 { try crowd.take(from: 0) }
        #expect(eventually { crowd.stuck == 3 })
        try crowd.loseKeeper()
        for _ in 0..<2 { try crowd.take(from: 0) }
        #expect(crowd.removed == [0, 0, 0, 0], "the fifth is declined")
        try crowd.take(from: 1)
        #expect(crowd.removed.last == 1)
        crowd.answer()
        try crowd.turn { crowd.removed.count == 6 }
        try crowd.end()
    }

    @Test("excludes processes of another running watchdogd, and processes that only have the same names")
    func imitated() throws {
        let base = Crowd.someUser()
        guard let running = try Crowd(owners: [1], from: base, messages: 4) else { return }
        for _ in 0..<4 { try running.take(from: 0) }
        #expect(eventually { running.stuck == 4 })
        let script = """
            import ctypes, os, sys, time
            libc = ctypes.CDLL(None)
            parent = os.getpid()
            def imitate(*actions):
                if os.fork() == 0:
                    for action in actions: action()
                    # PR_SET_PDEATHSIG, which a change of the user ends: prctl(2).
                    libc.prctl(1, 9)
                    if os.getppid() != parent: os._exit(0)
                    libc.prctl(15, b"wd-c-" + sys.argv[1].encode())  # PR_SET_NAME
                    os.write(1, b"!")
                    time.sleep(100000)
            def restrict(): libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
            def change(): os.setresuid(65534, 65534, 65534)
            for _ in range(4):
                imitate(); imitate(restrict); imitate(restrict, change); imitate(change)
            time.sleep(100000)
            """
        let output = try OwnedDescriptor.pipe()
        var request = SpawnRequest(
            executable: "/usr/bin/python3", arguments: ["python3", "-c", ByteString(script), ByteString("\(base + 1)")])
        request.descriptors[1].source = output.write.number
        let imitator = try spawn(request)
        defer { imitator.process.killAndReap() }
        var text = [UInt8](repeating: 0, count: 1)
        for _ in 0..<16 {
            try #require(waitReadable(output.read))
            _ = read(output.read.number, &text, 1)
        }
        guard let crowd = try Crowd(owners: [1], from: base, messages: 5) else { return }
        for _ in 0..<5 { try crowd.take(from: 0) }
        #expect(crowd.removed.count == 4)
        #expect(eventually { crowd.stuck == 4 })
        crowd.answer()
        try crowd.turn { crowd.removed.count == 5 }
        try crowd.end()
        try running.end()
    }

    @Test("excludes sockets that the next program does not keep: their copies are closed")
    func leftOver() throws {
        guard let crowd = try Crowd(owners: [1, 2], messages: 1) else { return }
        #expect(!crowd.isAbandoned(0))
        try crowd.succeed(keeping: false)
        #expect(eventually { crowd.isAbandoned(0) && crowd.isAbandoned(1) })
        try crowd.end()
    }
}

@Suite("Messages behind one that is not removed", .reapsChildren)
struct LookBehindTests {
    @Test("are read once each, up to a limit, without their descriptors, and stay in the queue")
    func look() throws {
        let directory = try RuntimeDirectory.create()
        defer { directory.remove() }
        let notify = try NotifySocket(in: directory, name: "notify")
        let sender = OwnedDescriptor(taking: wd_socket_connect_datagram(notify.address))
        let pipe = try OwnedDescriptor.pipe()
        let own = descriptorCopies(of: pipe.read.number)
        let long = String(repeating: "l", count: 2 * SocketMessage.longest + 1)
        for (text, passes) in [("a", true), ("b", false), (long, true), ("c", true), ("d", false)] {
            #expect(
                wd_socket_send_with(sender.number, text, text.utf8.count, [pipe.read.number], passes ? 1 : 0) == 0)
        }
        func behind(atMost limit: Int) -> [String] {
            var heard: [String] = []
            notify.lookBehindFirst(atMost: limit) { message in
                heard.append(String(decoding: message.bytes, as: UTF8.self))
                #expect(message.senderProcess == getpid())
                #expect(message.isTruncated == (message.bytes.count == SocketMessage.longest))
                #expect(descriptorCopies(of: pipe.read.number) == own)
            }
            return heard
        }
        let all = ["b", String(long.prefix(SocketMessage.longest)), "c", "d"]
        #expect(behind(atMost: 10) == all)
        #expect(behind(atMost: 2) == Array(all.prefix(2)))
        #expect(behind(atMost: 0) == [])
        let first = try notify.heed { #expect($0.bytes == [UInt8(ascii: "a")]) }
        #expect(first?.hasDescriptors == true)
        #expect(behind(atMost: 10) == all)
    }

    @Test("may be read once the removal of the first is over, however it ended")
    func regain() throws {
        let loop = try EventLoop()
        var source: CloserSource? = try CloserSource.start()
        let process = try #require(source?.process).pid
        var closer = try source.map { try Closer($0, on: loop) }
        source = nil
        var ends: [Int32] = [-1, -1]
        try #require(wd_socket_pair(&ends) == 0)
        let (socket, stranger) = (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
        let ticket = try #require(closer?.keep(socket, for: 1))
        #expect(closer?.regain(ticket) == true, "nothing is being removed")
        let pipe = try OwnedDescriptor.pipe()
        for text in ["a", "b"] {
            #expect(wd_socket_send_with(stranger.number, text, 1, [pipe.read.number], 1) == 0)
        }
        var isOut = false
        closer?.take(ticket) { isOut = true }
        #expect(eventually { closer?.regain(ticket) == true })
        #expect(isOut)
        guard case .message(let message) = try SocketMessage.peek(from: socket, WD_ORIGIN_SENDER) else {
            Issue.record("no message")
            return
        }
        #expect(message.bytes == [UInt8(ascii: "b")])
        // A stopped keeper may remove it at any time.
        let keeper = try #require(Procfs.children(of: process).first)
        #expect(kill(keeper, SIGSTOP) == 0)
        try #require(eventually { ProcessStat.read(keeper)?.state == .stopped })
        isOut = false
        closer?.take(ticket) { isOut = true }
        #expect(closer?.regain(ticket) == false)
        #expect(kill(keeper, SIGCONT) == 0)
        #expect(eventually { closer?.regain(ticket) == true })
        #expect(isOut)
        closer?.end()
        closer = nil
        var status: Int32 = 0
        #expect(waitpid(process, &status, 0) == process)
    }
}
