// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

@testable import WatchdogLaunch

@Suite("The sockets of a launch", .serialized, .reapsChildren)
struct LaunchSocketTests {
    private let bench: HostBench

    init() throws { bench = try HostBench("sockets") }

    private func configuration() -> LaunchConfiguration {
        LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: AppSpec.patient("sockets-\(getpid())")),
            executable: "/bin/sleep", arguments: ["sleep", "60"], environment: .inherited, workingDirectory: nil,
            credentials: nil, probe: nil, livenessTarget: nil, store: ReportStore(directory: "/nowhere"))
    }

    private func sockets() throws -> LaunchSockets {
        let sockets = try LaunchSockets(
            bench.host, configuration(), senders: { nil }, mainUser: { nil }, emit: { _ in })
        try sockets.start()
        return sockets
    }

    /// The address of a resumed launch's notify socket, if its process claims `address`.
    private func resumedAddress(_ address: String, _ launch: LaunchConfiguration) throws -> String {
        let sockets = try LaunchSockets(
            bench.host, resuming: launch, InheritedDescriptors(), notifyAddress: address, senders: { nil },
            mainUser: { nil }, emit: { _ in })
        try sockets.start()
        defer { sockets.stop() }
        return sockets.notifyAddress
    }

    @Test("A resumed launch keeps its socket's address, but replaces no file that its process names as such")
    func resumedAddress() throws {
        let launch = configuration()
        let folder = bench.host.runtimeDirectory.path
        let name = "\(folder)/notify-\(launch.launchID)"
        for address in ["\(name).0123456789abcdef", name, "@watchdogd-1-0123456789abcdef"] {
            #expect(try resumedAddress(address, launch) == address)
        }
        let other = "\(folder)/victim.1"
        close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        defer { unlink(other) }
        let tooLong = "\(name).\(String(repeating: "0", count: 17))"
        for address in ["", other, "\(name).", "\(name).1/../victim.1", "\(name)x", tooLong, "relative", "@other"] {
            let chosen = try resumedAddress(address, launch)
            #expect(chosen != address && chosen.hasPrefix("\(name)."))
        }
        #expect(access(other, F_OK) == 0)
    }

    /// Sends a datagram to a path, as a program does; false if the queue is full.
    private func send(_ text: String, to path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT), $0,
                    socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return sent == bytes.count
    }

    @Test(
        "Messages of an app that is not ready are read immediately at any rate, and a flood is read too"
    )
    func promptMessages() throws {
        var heard = 0
        let sockets = try LaunchSockets(
            bench.host, configuration(), senders: { SenderJudge { _ in .member } }, mainUser: { nil },
            emit: { event in if case .notifyMessage = event { heard += 1 } })
        try sockets.start()
        defer { sockets.stop() }
        sockets.closeAppEnd()
        for count in 1...20 {
            try #require(send("STATUS=\(count)", to: sockets.notifyAddress))
            for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
            #expect(heard == count)
        }
        #expect(!sockets.isPatient)
        let flood = 2 * MessagePatience.burst
        for count in 1...flood {
            try bench.turn("there is room") { send("STATUS=\(count)", to: sockets.notifyAddress) }
        }
        try bench.turn("all is read") { heard == 20 + flood }
    }

    @Test(
        "A flood waits for others, or is read at once where the kernel has no room for that", arguments: [true, false])
    func flood(hasRoom: Bool) throws {
        var heard = 0
        let sockets = try LaunchSockets(
            bench.host, configuration(), senders: { SenderJudge { _ in .member } }, mainUser: { nil },
            emit: { event in if case .notifyMessage = event { heard += 1 } })
        try sockets.start()
        defer { sockets.stop() }
        sockets.closeAppEnd()
        bench.system.script(failing: ENOSPC) { _ in !hasRoom }
        let flood = MessagePatience.burst + 20
        var wasPatient = false
        for count in 1...flood {
            try bench.turn("message \(count) is sent") { send("STATUS=\(count)", to: sockets.notifyAddress) }
            try bench.turn("message \(count) is read") { heard == count }
            wasPatient = wasPatient || sockets.isPatient
        }
        #expect(wasPatient == hasRoom)
        #expect(Set(bench.system.failures) == (hasRoom ? [] : ["watch a descriptor with others"]))
    }

    @Test("Messages to the notify socket that precede the process wait until it is known, and not a moment longer")
    func earlyMessages() throws {
        var heard = 0
        let sockets = try LaunchSockets(
            bench.host, configuration(), senders: { SenderJudge { _ in .member } }, mainUser: { nil },
            emit: { event in if case .notifyMessage = event { heard += 1 } })
        try sockets.start()
        defer { sockets.stop() }
        try #require(send("READY=1", to: sockets.notifyAddress))
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        sockets.readMessages()
        sockets.readLastMessages()
        #expect(heard == 0 && !sockets.isPatient)
        sockets.closeAppEnd()
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        #expect(heard == 1)
    }

    @Test("Messages on the channel that precede the process wait until it is known, and not a moment longer")
    func earlyChannelMessages() throws {
        var heard = 0
        let sockets = try LaunchSockets(
            bench.host, configuration(), senders: { nil }, mainUser: { nil },
            emit: { event in if case .channelMessage = event { heard += 1 } })
        try sockets.start()
        defer { sockets.stop() }
        let appEnd = try #require(sockets.appEnd)
        #expect(Glibc.send(appEnd.number, "READY=1", 7, 0) == 7)
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        sockets.readMessages()
        #expect(heard == 0)
        sockets.closeAppEnd()
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        #expect(heard == 1)
        withExtendedLifetime(appEnd) {}
    }

    @Test("Messages of a resumed launch wait until its process is found")
    func resumedMessages() throws {
        var heard: [String] = []
        let pair = try Channel.pair()
        var descriptors = InheritedDescriptors()
        descriptors.channel = pair.supervisor.descriptor
        let sockets = try LaunchSockets(
            bench.host, resuming: configuration(), descriptors, notifyAddress: "",
            senders: { SenderJudge { _ in .member } }, mainUser: { nil },
            emit: { event in
                switch event {
                case .notifyMessage: heard.append("notify socket")
                case .channelMessage: heard.append("channel")
                default: break
                }
            })
        try sockets.start()
        defer { sockets.stop() }
        try #require(send("READY=1", to: sockets.notifyAddress))
        #expect(Glibc.send(pair.app.number, "READY=1", 7, 0) == 7)
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        sockets.readMessages()
        #expect(heard.isEmpty)
        sockets.closeAppEnd()
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        #expect(heard.sorted() == ["channel", "notify socket"])
    }

    @Test("An app that closes its end of the channel costs one descriptor; one that keeps it costs two")
    func closedChannel() throws {
        let sockets = try sockets()
        defer { sockets.stop() }
        for _ in 0..<10 { _ = try bench.loop.runOnce(limit: .zero) }
        #expect(sockets.kept.count == 2)
        #expect(sockets.keptNumbers.channel != nil)
        weak let channel = sockets.kept.last
        #expect(channel?.number == sockets.keptNumbers.channel)
        sockets.closeAppEnd()
        try bench.turn("the channel is closed") { sockets.keptNumbers.channel == nil }
        #expect(sockets.kept.map(\.number) == [sockets.keptNumbers.notify])
        #expect(channel == nil)
        sockets.send([1])
    }
}
