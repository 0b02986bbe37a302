// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

@testable import WatchdogLaunch
@testable import WatchdogRun

/// A host on its own loop, with real processes and scripted failures.
///
/// Isolation: one thread. Only one test at a time has children: ``ReapsChildren``.
final class HostBench {
    /// Starts the launcher of `spawn(_:)`, which all tests share, before any bench.
    private static let sharedLauncher: Void = {
        let request = SpawnRequest(executable: "/bin/true", arguments: ["true"])
        (try? spawn(request))?.process.killAndReap()
    }()

    let system = FailingSystem()
    let loop: EventLoop
    let host: Host
    private let launcher: LauncherProcess
    /// Children that existed before.
    private let others: Set<Int32>

    /// - Parameter name: the name of the cgroup, unique in this process: other tests remove a cgroup with the same
    /// name.
    init(_ name: String) throws {
        _ = HostBench.sharedLauncher
        others = Set(Procfs.children(of: getpid()))
        loop = try EventLoop()
        launcher = try LauncherProcess(precedence: false)
        host = try Host(
            loop: loop, store: ReportStore(directory: "/nowhere"), launcher: launcher, system: system,
            cgroupName: "\(name)-\(getpid())")
    }

    /// Reaps the remaining children: Swift Testing waits for any child that has exited, and a zombie hides all others
    /// from it.
    deinit {
        try? turn("launches end") { system.launchingChildren.isEmpty }
        try? host.cgroupParent?.remove()
        launcher.process.killAndReap()
        // No further children appear now.
        for child in launched { child.killAndReap() }
    }

    /// The launcher, and processes that have not executed their program, such as those of canceled launches.
    private var launched: [Pidfd] {
        Procfs.children(of: getpid()).compactMap { child in
            guard !others.contains(child), ProcessStat.read(child)?.name == "wd-launcher" else { return nil }
            return try? Pidfd(opening: child)
        }
    }

    /// Reaps processes of launches that were canceled before the launcher named them; SIGCHLD makes watchdogd do this.
    private func reapUnnamed() {
        for child in launched where child.hasExited && !system.launchingChildren.contains(child.pid) {
            _ = try? child.waitExit()
        }
    }

    /// Turns the loop, in place of SIGCHLD, until a condition holds; throws if it never does.
    func turn(_ what: @autoclosure () -> Comment, until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, what())
            _ = try loop.runOnce(limit: .milliseconds(1))
            host.childrenChanged()
        }
    }

    /// Turns the loop until every launched resource is gone.
    func expectNothingLeft(_ after: String) throws {
        host.childrenChanged()
        // A cgroup stays busy for a moment after its last process has exited, and a process needs a CPU to exit.
        try turn("nothing is left after \(after), but \(system.leftovers)") {
            host.removeSpentCgroups()
            reapUnnamed()
            return system.leftovers.isEmpty && system.launchingChildren.isEmpty
                && launched.allSatisfy { $0.pid == launcher.process.pid }
        }
    }
}

/// Starts a program as the product does, but with the tests' patience.
func spawn(_ request: SpawnRequest) throws(SpawnError) -> SpawnedProcess {
    var request = request
    request.launchLimit = patience
    return try WatchdogLinux.spawn(request)
}

extension AppSpec {
    /// A spec for an app whose real process may be slow: its allowances exceed the tests' patience.
    static func patient(_ name: String, readiness: Readiness = .none) -> AppSpec {
        var spec = AppSpec(
            name: name, allowances: Allowances(launch: patience, update: patience, terminate: patience),
            readiness: readiness)
        (spec.captureBudget, spec.deathBudget) = (patience, patience)
        return spec
    }
}

extension Pidfd {
    /// Kills a test's child, and reaps it.
    func killAndReap() {
        try? send(SIGKILL)
        if eventually({ hasExited }) { _ = try? waitExit() }
    }
}
