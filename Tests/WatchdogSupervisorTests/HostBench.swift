// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

@testable import WatchdogSupervisor

/// A host on a loop of its own, with real processes and scripted failures.
///
/// Isolation: one thread. Only one test at a time has children: ``ReapsChildren``.
final class HostBench {
    /// The one of `spawn(_:)`, which serves all tests, is there before any bench.
    private static let sharedLauncher: Void = {
        let request = SpawnRequest(executable: "/bin/true", arguments: ["true"])
        (try? spawn(request))?.process.killAndReap()
    }()

    let system = FailingSystem()
    let loop: EventLoop
    let host: Host
    private let launcher: LauncherProcess
    /// Children that were there before.
    private let others: Set<Int32>

    /// - Parameter name: Of the cgroup, unique in this process: other tests remove the one that is named after it.
    init(_ name: String) throws {
        _ = HostBench.sharedLauncher
        others = Set(Procfs.children(of: getpid()))
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
        // No further ones appear now.
        for child in launched { child.killAndReap() }
    }

    /// The launcher, and processes that have not executed their program, such as those of launches that were given up.
    private var launched: [Pidfd] {
        Procfs.children(of: getpid()).compactMap { child in
            guard !others.contains(child), ProcessStat.read(child)?.name == "wd-launcher" else { return nil }
            return try? Pidfd(opening: child)
        }
    }

    /// Reaps processes of launches that were given up before the launcher had named them, as SIGCHLD has watchdogd do.
    private func reapUnnamed() {
        for child in launched where child.hasExited && !system.launchingChildren.contains(child.pid) {
            _ = try? child.waitExit()
        }
    }

    /// Turns the loop, and stands in for SIGCHLD, until something is so; throws when it does not come true.
    func turn(_ what: @autoclosure () -> Comment, until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, what())
            _ = try loop.runOnce(limit: .milliseconds(1))
            host.childrenChanged()
        }
    }

    /// Turns the loop until nothing is left of what was launched.
    func expectNothingLeft(_ after: String) throws {
        host.childrenChanged()
        // A cgroup is busy for a moment after its last process has ended, and a process ends only on a CPU.
        try turn("nothing is left after \(after), but \(system.leftovers)") {
            host.removeSpentCgroups()
            reapUnnamed()
            return system.leftovers.isEmpty && system.launchingChildren.isEmpty
                && launched.allSatisfy { $0.pid == launcher.process.pid }
        }
    }
}

/// Starts a program as the product does, but with the patience of tests.
func spawn(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
    var request = request
    request.launchLimit = patience
    return try WatchdogLinux.spawn(request)
}

extension AppSpec {
    /// The spec of an app whose real process may be slow: no allowance of it ends before the patience of tests.
    static func patient(_ name: String, readiness: Readiness = .none) -> AppSpec {
        var spec = AppSpec(
            name: name, allowances: Allowances(launch: patience, update: patience, terminate: patience),
            readiness: readiness)
        (spec.captureBudget, spec.deathBudget) = (patience, patience)
        return spec
    }
}

extension Pidfd {
    /// Ends a child of a test, and reaps it.
    func killAndReap() {
        try? send(SIGKILL)
        if eventually({ hasExited }) { _ = try? waitExit() }
    }
}
