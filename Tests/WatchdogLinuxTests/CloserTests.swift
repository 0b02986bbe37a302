// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// Siblings: a lingering TCP socket, a FUSE file whose flush is never answered, more descriptors than this process may
/// have, a flood of them; at the receipt of a message, at the end of its socket, and at the end of the process that
/// reads it.
@Suite("Descriptors from strangers are closed in expendable processes", .reapsChildren)
struct CloserTests {
    /// A closer, and a stranger's socket that it keeps.
    private final class Bed {
        let loop: EventLoop
        var closer: Closer?
        let process: Int32
        var socket: OwnedDescriptor?
        let stranger: OwnedDescriptor
        private(set) var ticket: Closer.Ticket?

        init(owner: UInt32 = 1) throws {
            loop = try EventLoop()
            let source = try CloserSource.start()
            process = try #require(source.process).pid
            closer = try Closer(source, on: loop)
            var ends: [Int32] = [-1, -1]
            try #require(wd_socket_pair(&ends) == 0)
            (socket, stranger) = (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
            ticket = closer?.keep(try #require(socket), for: owner)
        }

        /// Runs the loop until the condition holds.
        func turn(until condition: () -> Bool) throws {
            let end = Instant.now() + patience
            while !condition() {
                try #require(Instant.now() < end, "nothing happened in time")
                _ = try loop.runOnce(limit: .milliseconds(10))
            }
        }

        /// Handles the next message, and waits for its removal.
        func heed() throws -> String {
            var text = ""
            let descriptor = try #require(socket)
            guard
                case .message(let message) = try SocketMessage.heed(
                    from: descriptor, WD_ORIGIN_SENDER, { text = String(decoding: $0.bytes, as: UTF8.self) })
            else { return "nothing" }
            guard message.hasDescriptors else { return text }
            var isOut = false
            closer?.take(try #require(ticket)) { isOut = true }
            try turn { isOut }
            return text + " and descriptors"
        }

        func send(_ text: String, _ descriptors: [Int32]) {
            #expect(wd_socket_send_with(stranger.number, text, text.utf8.count, descriptors, descriptors.count) == 0)
        }

        func release() throws {
            socket = nil
            if let ticket { closer?.release(ticket) }
            ticket = nil
            try turn { closer?.count == 0 }
        }

        /// Ends the closer, and reaps its source.
        func end() throws {
            try release()
            closer = nil
            var status: Int32 = 0
            #expect(waitpid(process, &status, 0) == process)
        }
    }

    /// A TCP connection whose close blocks for longer than any test, because the peer never reads.
    private func lingering() throws -> (socket: Int32, peer: OwnedDescriptor) {
        let listening = OwnedDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let connection = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try #require(bind(listening.number, address, size) == 0 && listen(listening.number, 1) == 0)
                try #require(getsockname(listening.number, address, &size) == 0)
                connect(connection, address, size)
            }
        }
        let peer = OwnedDescriptor(taking: accept(listening.number, nil, nil))
        _ = fcntl(peer.number, F_SETFD, FD_CLOEXEC)
        let bytes = [UInt8](repeating: 0, count: 1 << 20)
        while send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 {}
        var linger = linger(l_onoff: 1, l_linger: Int32(2 * patience.components.seconds))
        try #require(
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger))) == 0)
        // Only a blocking socket lingers.
        _ = fcntl(connection, F_SETFL, 0)
        return (connection, peer)
    }

    @Test("a barrier is answered once its message is handled and removed, and later messages stay in order")
    func barrier() throws {
        let bed = try Bed()
        var (read, write): (OwnedDescriptor, OwnedDescriptor?) = try OwnedDescriptor.pipe()
        bed.send("BARRIER=1", [try #require(write).number])
        bed.send("READY=1", [])
        write = nil
        var entry = pollfd(fd: read.number, events: 0, revents: 0)
        #expect(poll(&entry, 1, 0) == 0, "nobody has handled it")
        #expect(try bed.heed() == "BARRIER=1 and descriptors")
        #expect(waitReadable(read), "nobody has what was attached any more")
        #expect(try bed.heed() == "READY=1")
        #expect(try bed.heed() == "nothing")
        try bed.end()
    }

    @Test("this process never receives a descriptor, whether or not the kernel identifies senders by pidfd")
    func nothingReceived() throws {
        let bed = try Bed()
        let pipe = try OwnedDescriptor.pipe()
        let own = descriptorCopies(of: pipe.read.number)
        bed.send("a", [Int32](repeating: pipe.read.number, count: 16))
        #expect(try bed.heed() == "a and descriptors")
        let directory = try RuntimeDirectory.create()
        defer { directory.remove() }
        let notify = try NotifySocket(in: directory, name: "notify")
        let sender = OwnedDescriptor(taking: wd_socket_connect_datagram(notify.address))
        #expect(wd_socket_send_with(sender.number, "b", 1, [pipe.read.number], 1) == 0)
        #expect(wd_socket_send(sender.number, "c", 1) == 0)
        let first = try #require(try notify.heed { _ in #expect(descriptorCopies(of: pipe.read.number) == own) })
        #expect(first.hasDescriptors && first.senderProcess == getpid() && first.sender == nil)
        _ = try notify.receive()
        let second = try #require(try notify.heed { #expect($0.bytes == [UInt8(ascii: "c")]) })
        #expect(!second.hasDescriptors && second.senderProcess == getpid())
        #expect(wd_socket_send(sender.number, "d", 1) == 0)
        let known = try #require(try notify.heed({ _ in true }) { #expect($0.bytes == [UInt8(ascii: "d")]) })
        #expect(known.senderProcess == getpid() && known.sender == nil, "nobody has asked")
        #expect(try notify.heed { _ in } == nil)
        try bed.end()
    }

    @Test("a message whose descriptors never close blocks neither later messages nor another socket")
    func lingeringSocket() throws {
        let bed = try Bed()
        let (connection, peer) = try lingering()
        bed.send("a", [connection])
        close(connection)
        bed.send("b", [])
        #expect(try bed.heed() == "a and descriptors")
        #expect(try bed.heed() == "b")
        try bed.end()
        withExtendedLifetime(peer) {}
    }

    @Test("this process does not close a released socket that contains such a message")
    func endOfSocket() throws {
        let bed = try Bed()
        let (connection, peer) = try lingering()
        bed.send("a", [connection])
        close(connection)
        var buffer = [UInt8](repeating: 0, count: 1)
        try bed.release()
        // The other end notices that the last copy is finally closed.
        #expect(eventually { recv(bed.stranger.number, &buffer, 1, Int32(MSG_DONTWAIT)) == 0 || errno == ECONNRESET })
        try bed.end()
        withExtendedLifetime(peer) {}
    }

    @Test("a FUSE file whose flush is never answered blocks neither later messages nor the exit")
    func silentFile() throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "flush") else { return }
        defer { fileSystem.end() }
        let bed = try Bed()
        // In another process, because every child of one that has the file also blocks when it closes inherited
        // descriptors.
        let script = """
            import os, socket, sys, time
            s = socket.socket(fileno=0)
            socket.send_fds(s, [b"a"], [os.open(sys.argv[1], os.O_RDONLY)])
            s.send(b"b")
            time.sleep(100000)
            """
        var request = SpawnRequest(
            executable: "/usr/bin/python3", arguments: ["python3", "-c", script, fileSystem.file])
        request.descriptors[0].source = bed.stranger.number
        let stranger = try spawn(request)
        defer {
            try? stranger.process.send(SIGKILL)
            fileSystem.end()
            _ = try? waitForExit(stranger.process)
        }
        try #require(waitReadable(try #require(bed.socket)))
        #expect(try bed.heed() == "a and descriptors")
        let keeper = try #require(Procfs.children(of: bed.process).first)
        let isStuck = eventually {
            Procfs.children(of: keeper).contains { WaitChannel.read($0, thread: $0) == "request_wait_answer" }
        }
        #expect(isStuck, "a process of the keeper closes it")
        #expect(waitReadable(try #require(bed.socket)))
        #expect(try bed.heed() == "b")
        try bed.end()
    }

    @Test("a lost keeper is replaced, and the message is handled again")
    func lostKeeper() throws {
        let bed = try Bed()
        func keepers() -> [Int32] { Procfs.children(of: bed.process) }
        #expect(eventually { keepers().count == 1 })
        let lost = try #require(keepers().first)
        var (read, write): (OwnedDescriptor, OwnedDescriptor?) = try OwnedDescriptor.pipe()
        bed.send("BARRIER=1", [try #require(write).number])
        write = nil
        #expect(kill(lost, SIGKILL) == 0)
        try bed.turn { keepers().contains { $0 != lost } }
        #expect(try bed.heed() == "BARRIER=1 and descriptors")
        #expect(waitReadable(read))
        try bed.end()
    }
}
