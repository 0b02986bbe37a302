// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Sockets of an observed program", .reapsChildren)
struct ProgramSocketsTests {
    private func message(from process: Int32, user: UInt32 = geteuid()) -> SocketMessage {
        SocketMessage(bytes: [], senderProcess: process, senderUser: user, senderGroup: 0)
    }

    @Test("A process that this one has launched is believed; one that has exited, if root or the launch's user ran it")
    func launched() throws {
        let spawned = try spawn(shell("read line"))
        #expect(message(from: spawned.pid, user: 12_345).isOfLaunch)
        try spawned.process.send(SIGKILL)
        _ = try waitForExit(spawned.process)
        #expect(message(from: spawned.pid).isOfLaunch)
        #expect(message(from: spawned.pid, user: 0).isOfLaunch)
        #expect(!message(from: spawned.pid, user: 12_345).isOfLaunch)
    }

    @Test("Those of other programs are not, whichever user they run for")
    func strangers() {
        for process in [1, getppid(), getpid(), 0, -1] { #expect(!message(from: process).isOfLaunch, "\(process)") }
    }

    @Test("The channel is read, and a closed one is noticed and renewed")
    func receiving() throws {
        let sockets = try ProgramSockets(name: "test")
        #expect(sockets.descriptors.count == 2 && sockets.isChannelOpen)
        #expect(send(try #require(sockets.programEnd?.number), "READY=1", 7, 0) == 7)
        var received: [[UInt8]] = []
        sockets.receive { source, message in
            #expect(source == .channel)
            received.append(message.bytes)
        }
        #expect(received == [Array("READY=1".utf8)])
        sockets.releaseProgramEnd()
        sockets.receive { _, _ in Issue.record("there is no message") }
        #expect(!sockets.isChannelOpen && sockets.descriptors.count == 1)
        try sockets.renew()
        #expect(sockets.isChannelOpen && sockets.programEnd != nil)
    }
}
