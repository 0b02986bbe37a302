// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

@testable import WatchdogSupervisor

@Suite("The sockets of a launch", .serialized, .reapsChildren)
struct LaunchSocketTests {
    private let bench: HostBench

    init() throws { bench = try HostBench("sockets") }

    private func sockets() throws -> LaunchSockets {
        let configuration = LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: AppSpec(name: "sockets-\(getpid())", readiness: .none)),
            executable: "/bin/sleep", arguments: ["sleep", "60"], environment: .inherited, workingDirectory: nil,
            credentials: nil, probe: nil, livenessTarget: nil, store: ReportStore(directory: "/nowhere"))
        let sockets = try LaunchSockets(bench.host, configuration, senders: { nil }, mainUser: { nil }, emit: { _ in })
        try sockets.start()
        return sockets
    }

    @Test("An app that closes its end of the channel costs one descriptor, and one that holds it two")
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
