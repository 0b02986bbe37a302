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

    private func configuration() -> LaunchConfiguration {
        LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: AppSpec(name: "sockets-\(getpid())", readiness: .none)),
            executable: "/bin/sleep", arguments: ["sleep", "60"], environment: .inherited, workingDirectory: nil,
            credentials: nil, probe: nil, livenessTarget: nil, store: ReportStore(directory: "/nowhere"))
    }

    private func sockets() throws -> LaunchSockets {
        let sockets = try LaunchSockets(
            bench.host, configuration(), senders: { nil }, mainUser: { nil }, emit: { _ in })
        try sockets.start()
        return sockets
    }

    /// The address of the notify socket of a launch whose process says that it was `address`.
    private func resumedAddress(_ address: String, _ launch: LaunchConfiguration) throws -> String {
        let sockets = try LaunchSockets(
            bench.host, resuming: launch, InheritedDescriptors(), notifyAddress: address, senders: { nil },
            mainUser: { nil }, emit: { _ in })
        try sockets.start()
        defer { sockets.stop() }
        return sockets.notifyAddress
    }

    @Test("A resumed launch keeps the address of its socket, but replaces no file that its process calls so")
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
