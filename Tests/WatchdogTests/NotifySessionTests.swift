// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Testing
import WatchdogWire

@testable import Watchdog

@Suite("A session with a supervisor that uses sd_notify")
struct NotifySessionTests {
    private func configuration(
        _ name: String,
        microseconds: String? = nil,
        process: String? = nil
    ) -> Configuration {
        Configuration(
            channel: nil,
            notifySocket: name,
            watchdogMicroseconds: microseconds,
            watchdogProcess: process
        )
    }

    private func message(_ build: (inout NotifyMessage) -> Void) -> NotifyMessage {
        var message = NotifyMessage()
        build(&message)
        return message
    }

    @Test("sends to paths and to abstract names", arguments: ["/tmp/", "@"])
    func addresses(prefix: String) {
        let socket = NotifySocket(NotifySocket.uniqueName(prefix))
        let session = Session(configuration(socket.name), at: .t0)
        #expect(session.isSupervised)
        _ = session.send(at: .t0) { $0.isReady = true }
        #expect(socket.receive() == message { $0.isReady = true })
    }

    @Test("uses sd_notify's keys and omits messages without one")
    func words() {
        let socket = NotifySocket(NotifySocket.uniqueName("@"))
        let session = Session(configuration(socket.name), at: .t0)
        _ = session.send(at: .t0) {
            $0.isStopping = true
            ($0.status, $0.summary, $0.timeoutExtension, $0.progress) = ("s", "not sent", .seconds(1), "p")
        }
        let expected = message {
            $0.isStopping = true
            ($0.status, $0.timeoutExtension, $0.progress) = ("s", .seconds(1), "p")
        }
        #expect(socket.receive() == expected)
        _ = session.send(at: .t0) { $0.summary = "not sent" }
        #expect(socket.receive(within: .zero) == nil)
    }

    @Test("pushes signs of life at half of the allowance, late or not", arguments: [nil, "\(getpid())"])
    func push(process: String?) {
        let socket = NotifySocket(NotifySocket.uniqueName("@"))
        let session = Session(configuration(socket.name, microseconds: "2000000", process: process), at: .t0)
        let alive = message { $0.watchdog = .alive }
        #expect(socket.receive(within: .zero) == nil, "only the loop pushes")
        #expect(session.deadline == .t0)
        _ = session.service(at: .t0)
        #expect(socket.receive() == alive)
        #expect(session.deadline == .t0 + .seconds(1))
        _ = session.service(at: .t0 + .milliseconds(999))
        #expect(socket.receive(within: .zero) == nil)
        _ = session.service(at: .t0 + .milliseconds(1700))
        #expect(socket.receive() == alive)
        #expect(socket.receive(within: .zero) == nil)
        #expect(session.deadline == .t0 + .milliseconds(2700))
    }

    @Test(
        "pushes nothing unless requested",
        arguments: [
            (nil, nil), ("0", nil), ("-1", nil), ("", nil), ("x", nil), ("2s", nil), ("99999999999999999999", nil),
            ("2000000", "1"), ("2000000", "x"), ("2000000", ""),
        ] as [(String?, String?)]
    )
    func noPush(microseconds: String?, process: String?) {
        let socket = NotifySocket(NotifySocket.uniqueName("@"))
        let session = Session(configuration(socket.name, microseconds: microseconds, process: process), at: .t0)
        #expect(session.deadline == nil)
        _ = session.service(at: .t0 + .seconds(1000))
        #expect(socket.receive(within: .zero) == nil)
        #expect(session.isSupervised)
    }

    @Test("keeps messages while the supervisor is absent")
    func absent() {
        let name = NotifySocket.uniqueName("@")
        let session = Session(configuration(name, microseconds: "2000000"), at: .t0)
        #expect(!session.send(at: .t0) { $0.isReady = true })
        _ = session.service(at: .t0)
        #expect(session.isSupervised)
        let socket = NotifySocket(name)
        _ = session.service(at: .t0 + .seconds(1))
        #expect(socket.receive() == message { $0.watchdog = .alive })
        #expect(socket.receive() == message { $0.isReady = true })
    }

    @Test("tries again when the supervisor's queue is full")
    func full() {
        let socket = NotifySocket(NotifySocket.uniqueName("@"))
        let session = Session(configuration(socket.name), at: .t0)
        var sent = 0
        while session.deadline == nil, sent < 10_000 {
            sent += 1
            _ = session.send(at: .t0) { $0.isReady = true }
        }
        #expect(session.deadline == .t0 + .milliseconds(100))
        var received = 0
        while socket.receive(within: .zero) != nil { received += 1 }
        #expect(received == sent - 1)
        _ = session.service(at: .t0 + .milliseconds(100))
        #expect(socket.receive() == message { $0.isReady = true })
        #expect(session.deadline == nil)
    }

    @Test(
        "stays silent with an invalid address",
        arguments: ["", "@", "/", "relative", "vsock:2:1234", "/" + String(repeating: "x", count: 107)]
    )
    func invalidAddress(name: String) {
        #expect((NotifyAddress(name) == nil) == (name != "/" || NotifyAddress("/") == nil))
        let session = Session(
            Configuration(channel: nil, notifySocket: name, watchdogMicroseconds: "1000", watchdogProcess: nil),
            at: .t0
        )
        #expect(!session.isSupervised)
        #expect(session.deadline == nil)
    }

    @Test("accepts the longest addresses")
    func longestAddress() {
        #expect(NotifyAddress("/" + String(repeating: "x", count: 106)) != nil)
        #expect(NotifyAddress("@" + String(repeating: "x", count: 107)) != nil)
        #expect(NotifyAddress("@" + String(repeating: "x", count: 108)) == nil)
    }

    @Test("stays silent without variables in the environment")
    func silence() {
        let configuration = Configuration(
            channel: nil,
            notifySocket: nil,
            watchdogMicroseconds: "2000000",
            watchdogProcess: nil
        )
        let session = Session(configuration, at: .t0)
        #expect(!session.isSupervised)
        for _ in 0..<100 {
            #expect(!session.send(at: .t0) { ($0.isReady, $0.status) = (true, "anyone?") })
        }
        #expect(session.service(at: .t0).isEmpty)
        #expect(session.deadline == nil)
        #expect(session.descriptor == nil)
    }
}
