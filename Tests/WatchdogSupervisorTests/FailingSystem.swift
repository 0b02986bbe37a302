// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import WatchdogBase
import WatchdogLinux

@testable import WatchdogLaunch

/// Linux with scripted failures, and a record of every resource that must be released.
///
/// Isolation: one thread.
final class FailingSystem: LaunchSystem {
    private struct Child {
        let process: Pidfd
        var isOwned = true
    }

    private let linux = LinuxSystem()
    private var isFailing: (_ call: Int) -> Bool = { _ in false }
    private var errno = Errno(rawValue: ENOMEM)
    /// The calls that could fail, in order.
    private(set) var calls: [String] = []
    /// The calls that failed.
    private(set) var failures: [String] = []
    private var references: [() -> AnyObject?] = []
    private var cgroups: [String] = []
    private var sockets: [String] = []
    private var children: [Pidfd] = []
    /// Signals to a group whose leader has been reaped, so that its id may have been reused.
    private(set) var strayGroupSignals = 0
    /// The launcher of all programs.
    private weak var launcher: Launcher?

    deinit { endChildren() }

    /// Resets the records and fails the selected calls from now on.
    func script(failing errno: Int32, where isFailing: @escaping (_ call: Int) -> Bool) {
        endChildren()
        self.isFailing = isFailing
        self.errno = Errno(rawValue: errno)
        (calls, failures, references, cgroups, sockets, children) = ([], [], [], [], [], [])
    }

    /// Created resources that still exist.
    var leftovers: [String] {
        references.compactMap { $0() }.map { "\($0)" }
            + cgroups.filter { access($0, F_OK) == 0 } + sockets.filter { access($0, F_OK) == 0 }
            + children.filter { DescriptorKind(of: $0.descriptor) == .process($0.pid) }.map { "process \($0.pid)" }
            + launchingChildren.map { "process \($0) of a launch" }
    }

    /// Processes of launches that are unfinished, failed or canceled.
    var launchingChildren: Set<Int32> { launcher?.children ?? [] }

    /// Reaps the children of a failed test.
    private func endChildren() {
        for child in children where DescriptorKind(of: child.descriptor) == .process(child.pid) { child.killAndReap() }
    }

    private func check(_ call: String) throws(LinuxError) {
        calls.append(call)
        guard isFailing(calls.count) else { return }
        failures.append(call)
        throw LinuxError(call, errno)
    }

    private func remember<Resource: AnyObject>(_ resource: Resource) -> Resource {
        references.append { [weak resource] in resource }
        return resource
    }

    func createCgroup(_ name: String, in parent: CgroupParent) throws(LinuxError) -> Cgroup {
        try check("create the cgroup")
        let cgroup = remember(try linux.createCgroup(name, in: parent))
        cgroups.append(cgroup.path)
        return cgroup
    }

    func createCgroup(_ name: String, below cgroup: Cgroup) throws(LinuxError) -> Cgroup {
        try check("create a cgroup below")
        let child = remember(try linux.createCgroup(name, below: cgroup))
        cgroups.append(child.path)
        return child
    }

    func openDirectory(of cgroup: Cgroup) throws(LinuxError) -> OwnedDescriptor {
        try check("open the cgroup")
        return remember(try linux.openDirectory(of: cgroup))
    }

    func openNull() throws(LinuxError) -> OwnedDescriptor {
        try check("open /dev/null")
        return remember(try linux.openNull())
    }

    func bindNotifySocket(_ name: String, in directory: RuntimeDirectory) throws(LinuxError) -> NotifySocket {
        try check("bind the notify socket")
        let socket = remember(try linux.bindNotifySocket(name, in: directory))
        sockets.append(socket.address)
        return socket
    }

    func bindNotifySocket(at address: String) throws(LinuxError) -> NotifySocket {
        try check("bind the notify socket")
        let socket = remember(try linux.bindNotifySocket(at: address))
        sockets.append(socket.address)
        return socket
    }

    func socketPair() throws(LinuxError) -> (supervisor: Channel, app: OwnedDescriptor) {
        try check("create a socket pair")
        let pair = try linux.socketPair()
        return (remember(pair.supervisor), remember(pair.app))
    }

    func launch(
        _ request: SpawnRequest, by launcher: Launcher, onHeld: ((HeldProcess) -> Void)?,
        onEnd: @escaping (Result<SpawnedProcess, SpawnError>) -> Void
    ) throws(SpawnError) -> PendingLaunch {
        self.launcher = launcher
        do throws(LinuxError) {
            try check("spawn")
        } catch {
            throw SpawnError(stage: .clone, errno: error.errno, operation: "clone")
        }
        var request = request
        request.launchLimit = patience
        let launch = try linux.launch(request, by: launcher, onHeld: onHeld) { [unowned self] result in
            if case .success(let spawned) = result {
                _ = remember(spawned.process.descriptor)
                // A separate descriptor, so that the test can observe the other one closing.
                if let process = try? Pidfd(opening: spawned.pid) { children.append(process) }
            }
            onEnd(result)
        }
        return remember(launch)
    }

    func openProcess(_ pid: Int32) throws(LinuxError) -> Pidfd {
        try check("open a process")
        let process = try linux.openProcess(pid)
        _ = remember(process.descriptor)
        return process
    }

    func timer(
        on loop: EventLoop, priority: EventLoop.Priority, handler: @escaping (Timer.Firing) -> Void
    ) throws(LinuxError) -> Timer {
        try check("create a timer")
        return remember(try linux.timer(on: loop, priority: priority, handler: handler))
    }

    func watch(
        _ descriptor: OwnedDescriptor, on loop: EventLoop, priority: EventLoop.Priority, handler: @escaping () -> Void
    ) throws(LinuxError) -> IOSource {
        try check("watch a descriptor")
        return remember(try linux.watch(descriptor, on: loop, priority: priority, handler: handler))
    }

    func watch(
        _ descriptor: OwnedDescriptor, in source: SharedSource, pace: TokenBucket?, handler: @escaping () -> Void
    ) throws(LinuxError) -> SharedSource.Member {
        try check("watch a descriptor with others")
        return remember(try linux.watch(descriptor, in: source, pace: pace, handler: handler))
    }

    func signalGroup(ledBy process: Pidfd, _ signal: Int32) {
        if DescriptorKind(of: process.descriptor) != .process(process.pid) { strayGroupSignals += 1 }
        linux.signalGroup(ledBy: process, signal)
    }

    // Other tests in this process have children too, so only children started here are touched.

    func changedChild() -> Int32? {
        children.first { $0.hasExited && DescriptorKind(of: $0.descriptor) == .process($0.pid) }?.pid
    }

    func takeChange(of child: Int32) { _ = try? children.first { $0.pid == child }?.waitExit() }

    func reapOrphans(except supervised: Set<Int32>) {
        for child in children where !supervised.contains(child.pid) { _ = try? child.waitExit() }
    }
}
