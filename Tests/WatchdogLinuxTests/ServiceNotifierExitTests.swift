// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("The service manager gets messages without delaying watchdogd")
struct ServiceNotifierExitTests {
    private struct Heard: Equatable {
        var text: String
        var kinds: [DescriptorKind] = []
    }

    /// Runs the body with a service manager: `NOTIFY_SOCKET` belongs to the whole process.
    private static func withManager(_ body: (EventLoop, ServiceNotifier, NotifySocket) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let manager = try NotifySocket(in: RuntimeDirectory(path: directory), name: "manager")
            setenv("NOTIFY_SOCKET", manager.address, 1)
            let loop = try EventLoop()
            try body(loop, #require(try ServiceNotifier(on: loop)), manager)
        }
    }

    private static func hear(_ manager: NotifySocket) throws -> [Heard] {
        var heard: [Heard] = []
        while let (message, descriptors) = try manager.receiveAll() {
            heard.append(
                Heard(
                    text: String(decoding: message.bytes, as: UTF8.self),
                    kinds: descriptors.map { DescriptorKind(of: $0) }))
        }
        return heard
    }

    /// Receives everything, as a service manager that reads again.
    private static func hear(_ manager: NotifySocket, _ loop: EventLoop, count: Int) throws -> [Heard] {
        var heard = try hear(manager)
        while heard.count < count, try loop.runOnce(limit: TestSupport.patience) { heard += try hear(manager) }
        return heard
    }

    @Test("messages have the format that sd_notify(3) requires")
    func words() async throws {
        await #expect(processExitsWith: .success) {
            try Self.withManager { _, notifier, manager in
                let (channel, app) = try Channel.pair()
                notifier.store([channel.descriptor, app], as: "launch")
                notifier.removeStored("launch")
                notifier.say(["READY=1", "STATUS=2 apps"])
                #expect(notifier.mention("WATCHDOG=1"))
                #expect(
                    try Self.hear(manager) == [
                        Heard(text: "FDSTORE=1\nFDPOLL=0\nFDNAME=launch", kinds: [.channel, .channel]),
                        Heard(text: "FDSTOREREMOVE=1\nFDNAME=launch"), Heard(text: "READY=1\nSTATUS=2 apps"),
                        Heard(text: "WATCHDOG=1"),
                    ])
            }
        }
    }

    @Test("a service manager that does not read gets every message later, in order, except signs of life")
    func patience() async throws {
        await #expect(processExitsWith: .success) {
            try Self.withManager { loop, notifier, manager in
                let (channel, _) = try Channel.pair()
                for number in 0..<1_000 { notifier.store([channel.descriptor], as: "launch-\(number)") }
                #expect(!notifier.mention("WATCHDOG=1"))
                notifier.say(["STOPPING=1"])
                let heard = try Self.hear(manager, loop, count: 1_001)
                #expect(
                    heard.dropLast()
                        == (0..<1_000).map {
                            Heard(text: "FDSTORE=1\nFDPOLL=0\nFDNAME=launch-\($0)", kinds: [.channel])
                        })
                #expect(heard.last == Heard(text: "STOPPING=1"))
                #expect(notifier.mention("WATCHDOG=1"))
            }
        }
    }

    @Test("a message that is withdrawn before it was sent is not sent")
    func takenBack() async throws {
        await #expect(processExitsWith: .success) {
            try Self.withManager { loop, notifier, manager in
                let (channel, _) = try Channel.pair()
                while notifier.mention("WATCHDOG=1") {}
                let full = try Self.hear(manager).count
                for _ in 0..<full { #expect(notifier.mention("WATCHDOG=1")) }
                notifier.store([channel.descriptor], as: "first")
                notifier.store([channel.descriptor], as: "second")
                notifier.removeStored("first")
                let heard = try Self.hear(manager, loop, count: full + 2)
                #expect(
                    heard.dropFirst(full) == [
                        Heard(text: "FDSTORE=1\nFDPOLL=0\nFDNAME=second", kinds: [.channel]),
                        Heard(text: "FDSTOREREMOVE=1\nFDNAME=first"),
                    ])
            }
        }
    }

    @Test("a service manager that is gone is reported each time")
    func gone() async throws {
        await #expect(processExitsWith: .success) {
            try Self.withManager { loop, notifier, _ in
                setenv("NOTIFY_SOCKET", "/nowhere/socket", 1)
                #expect(throws: LinuxError.self) { try ServiceNotifier(on: loop) }
            }
            try withTemporaryDirectory { directory in
                var manager: NotifySocket? = try NotifySocket(in: RuntimeDirectory(path: directory), name: "manager")
                setenv("NOTIFY_SOCKET", manager?.address ?? "", 1)
                let notifier = try #require(try ServiceNotifier(on: EventLoop()))
                manager = nil
                var problems: [LinuxError] = []
                notifier.onProblem = { problems.append($0) }
                notifier.say(["READY=1"])
                #expect(!notifier.mention("WATCHDOG=1"))
                #expect(problems.map(\.errno.name) == ["ECONNREFUSED"])
            }
        }
    }
}
