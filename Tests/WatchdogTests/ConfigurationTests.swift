// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import Glibc
import Testing

@testable import Watchdog

@Suite("Choosing the supervisor")
struct ConfigurationTests {
    private func isChannel(_ value: String?, notifySocket: String? = nil) -> Bool {
        let configuration = Configuration(
            channel: value,
            notifySocket: notifySocket,
            watchdogMicroseconds: nil,
            watchdogProcess: nil
        )
        if case .channel = configuration.transport { return true }
        return false
    }

    @Test("a connected seqpacket socket is used as the channel and hidden from other programs")
    func channel() {
        let channel = Channel()
        _ = fcntl(channel.app, F_SETFD, 0)
        let configuration = Configuration(
            channel: "\(channel.app)",
            notifySocket: "@watchdog-test-unused",
            watchdogMicroseconds: nil,
            watchdogProcess: nil
        )
        guard case .channel(let descriptor) = configuration.transport else {
            Issue.record("the channel has to win over the notify socket")
            return
        }
        #expect(descriptor.number == channel.app)
        #expect(fcntl(channel.app, F_GETFD) == FD_CLOEXEC)
    }

    @Test("an invalid number is not a channel", arguments: ["", "x", "-1", "1000000", "99999999999", "3 ", "0x3"])
    func noNumber(value: String) {
        #expect(!isChannel(value))
    }

    @Test("sockets of other types are left alone", arguments: [SOCK_STREAM, SOCK_DGRAM])
    func otherTypes(type: __socket_type) {
        let channel = Channel(type: type)
        defer { close(channel.app) }
        _ = fcntl(channel.app, F_SETFD, 0)
        #expect(!isChannel("\(channel.app)"))
        #expect(fcntl(channel.app, F_GETFD) == 0, "not closed and not changed")
    }

    @Test("an unconnected socket and a pipe are left alone")
    func unconnected() {
        let lone = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var ends: [Int32] = [-1, -1]
        #expect(wd_pipe(&ends, 0) == 0)
        for number in [lone, ends[0], ends[1]] {
            #expect(!isChannel("\(number)"))
            #expect(close(number) == 0)
        }
    }
}
