// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReportStore

@testable import WatchdogSupervisor

/// A host on a loop of its own, with real processes and scripted failures.
///
/// Isolation: one thread.
final class HostBench {
    let system = FailingSystem()
    let loop: EventLoop
    let host: Host
    private let launcher: LauncherProcess

    /// - Parameter name: Of the cgroup, unique in this process: other tests remove the one that is named after it.
    init(_ name: String) throws {
        loop = try EventLoop()
        launcher = try LauncherProcess(precedence: false)
        host = try Host(
            loop: loop, store: ReportStore(directory: "/nowhere"), launcher: launcher, system: system,
            cgroupName: "\(name)-\(getpid())")
    }

    /// Reaps what is left: Swift Testing waits for any child that has ended, and a zombie hides all others from it.
    deinit {
        try? turn("launches end") { system.launchingChildren.isEmpty }
        try? host.cgroupParent?.remove()
        launcher.process.killAndReap()
    }

    /// Turns the loop, and stands in for SIGCHLD, until something is so; throws when it is not within a minute.
    func turn(_ what: @autoclosure () -> Comment, until condition: () -> Bool) throws {
        let end = Instant.now() + .seconds(60)
        while !condition() {
            try #require(Instant.now() < end, what())
            _ = try loop.runOnce(limit: .milliseconds(1))
            host.childrenChanged()
        }
    }
}

extension Pidfd {
    /// Ends a child of a test.
    func killAndReap() {
        try? send(SIGKILL)
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, 10_000) == 1 { _ = try? waitExit() }
    }
}
