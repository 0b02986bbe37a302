// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("The status that the daemon sends to a service manager")
struct ServiceStatusTests {
    private final class Manager {
        var line = "start"
        var isListening = true
        var looks = 0
        var told: [(line: String, at: Instant)] = []
    }

    private static let interval = Duration.milliseconds(40)

    private let loop: EventLoop
    private let manager = Manager()
    private let status: ServiceStatus
    /// The time before the first message.
    private let begun: Instant

    init() throws {
        let loop = try EventLoop()
        self.loop = loop
        status = try ServiceStatus(
            on: loop, every: Self.interval,
            line: { [manager] in
                manager.looks += 1
                return manager.line
            },
            tell: { [manager] line in
                if manager.isListening { manager.told.append((line, loop.now)) }
                return manager.isListening
            })
        begun = loop.now
        status.noteSaid("start")
    }

    private func turn(until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, "nothing happened in time")
            _ = try loop.runOnce(limit: .milliseconds(50))
        }
    }

    @Test("Only the latest of many changes is sent, no sooner than the interval after the previous message")
    func limited() throws {
        for number in 0..<1_000 {
            manager.line = "\(number)"
            status.changed()
        }
        try turn { !manager.told.isEmpty }
        #expect(manager.told.map(\.line) == ["999"])
        #expect(manager.looks == 1)
        #expect(manager.told[0].at >= begun + Self.interval)
        manager.line = "next"
        status.changed()
        try turn { manager.told.count == 2 }
        #expect(manager.told[1].at >= begun + Self.interval + Self.interval)
    }

    @Test("A change that is undone in the meantime is not sent, and the state is read no more often")
    func unchanged() throws {
        status.changed()
        try turn { manager.looks == 1 }
        status.changed()
        status.changed()
        try turn { manager.looks == 2 }
        #expect(loop.now >= begun + Self.interval + Self.interval)
        #expect(manager.told.isEmpty)
    }

    @Test("A message that the service manager did not accept is sent again")
    func repeated() throws {
        manager.isListening = false
        manager.line = "late"
        status.changed()
        try turn { manager.looks == 2 }
        manager.isListening = true
        try turn { !manager.told.isEmpty }
        #expect(manager.told.map(\.line) == ["late"])
    }
}
