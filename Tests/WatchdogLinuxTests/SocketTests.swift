// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("Sockets")
struct SocketTests {
    @Test("a notify socket tells who sent a message, and takes its file away at the end")
    func notify() throws {
        var path = ""
        do {
            let socket = try NotifySocket(for: nil)
            path = socket.address
            #expect(access(path, F_OK) == 0)
            #expect(try socket.receive() == nil)
            try send("READY=1\n", to: path)
            let message = try #require(try socket.receive())
            #expect(message.bytes == Array("READY=1\n".utf8))
            #expect(message.sender == Datagram.Sender(pid: getpid(), user: geteuid()))
            #expect(!message.isTruncated)
            #expect(try socket.receive() == nil)
        }
        #expect(access(path, F_OK) == -1)
    }

    @Test("a message over the limit is cut and marked")
    func truncated() throws {
        let socket = try NotifySocket(for: nil)
        try send(String(repeating: "x", count: 4_097), to: socket.address)
        let message = try #require(try socket.receive())
        #expect(message.bytes.count == 4_096)
        #expect(message.isTruncated)
        try send(String(repeating: "x", count: 4_096), to: socket.address)
        #expect(try #require(try socket.receive()).isTruncated == false)
    }

    @Test("a runtime directory too deep for a socket gets an abstract name")
    func abstract() throws {
        let deep = "/tmp/" + String(repeating: "d", count: 100) + "-\(getpid())"
        try #require(mkdir(deep, 0o700) == 0)
        defer { rmdir(deep) }
        let socket = try NotifySocket(for: nil, in: deep)
        #expect(socket.address.hasPrefix("@watchdogd-"))
    }

    @Test("a channel keeps message boundaries and tells when the app's end is closed")
    func channel() throws {
        let (channel, appEnd) = try Channel.make()
        #expect(channel.send(Array("PING=1\n".utf8)))
        #expect(channel.send(Array("PING=2\n".utf8)))
        var buffer = [UInt8](repeating: 0, count: 64)
        #expect(read(appEnd.number, &buffer, 64) == 7)
        #expect(buffer.prefix(7) == Array("PING=1\n".utf8)[...])
        #expect(write(appEnd.number, "PONG=1\n", 7) == 7)
        guard case .message(let message) = channel.receive() else {
            Issue.record("no message")
            return
        }
        #expect(message.bytes == Array("PONG=1\n".utf8))
        guard case .nothing = channel.receive() else {
            Issue.record("a second message")
            return
        }
    }

    @Test("an app that does not read loses messages instead of blocking the supervisor")
    func full() throws {
        let (channel, appEnd) = try Channel.make()
        let message = [UInt8](repeating: 0x41, count: 4_000)
        var sent = 0
        while sent < 100_000, channel.send(message) { sent += 1 }
        #expect(sent > 10 && sent < 100_000)
        withExtendedLifetime(appEnd) {}
    }

    @Test("a closed app end reads as closed, and sending to it raises no signal")
    func closed() throws {
        let channel = try makeAbandonedChannel()
        guard case .closed = channel.receive() else {
            Issue.record("not closed")
            return
        }
        #expect(!channel.send([0x41]))
    }

    @Test("an empty message is not the end")
    func emptyMessage() throws {
        let (channel, appEnd) = try Channel.make()
        #expect(Glibc.send(appEnd.number, "", 0, 0) == 0)
        guard case .message(let message) = channel.receive() else {
            Issue.record("closed")
            return
        }
        #expect(message.bytes.isEmpty)
    }

    private func makeAbandonedChannel() throws -> Channel {
        try Channel.make().channel
    }

    private func send(_ text: String, to path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(sent == bytes.count)
    }
}

@Suite("Users")
struct UserTests {
    @Test("a user is found by name and by number", arguments: ["root", "0"])
    func root(text: String) throws {
        let user = try #require(User.find(text))
        #expect(user.name == "root")
        #expect(user.credentials.user == 0)
        #expect(user.credentials.supplementaryGroups.contains(0))
    }

    @Test("an unknown user is nil", arguments: ["no-such-user-here", "4294967290", "", "-1"])
    func unknown(text: String) {
        #expect(User.find(text) == nil)
    }
}
