// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy

/// The system calls that a launch makes: the seam between the shell and Linux.
///
/// Every call that can fail for lack of a resource goes through here, so that tests can run the real shell and fail any
/// one of them. Results release themselves: a descriptor closes, a source leaves its loop.
///
/// Isolation: the loop's thread.
package protocol LaunchSystem {
    func createCgroup(_ name: String, in parent: CgroupParent) throws(LinuxError) -> Cgroup
    func createCgroup(_ name: String, below cgroup: Cgroup) throws(LinuxError) -> Cgroup
    func openDirectory(of cgroup: Cgroup) throws(LinuxError) -> OwnedDescriptor
    func openNull() throws(LinuxError) -> OwnedDescriptor
    func bindNotifySocket(_ name: String, in directory: RuntimeDirectory) throws(LinuxError) -> NotifySocket
    func bindNotifySocket(at address: String) throws(LinuxError) -> NotifySocket
    func socketPair() throws(LinuxError) -> (supervisor: Channel, app: OwnedDescriptor)
    func launch(
        _ request: SpawnRequest, by launcher: Launcher, onHeld: ((HeldProcess) -> Void)?,
        onEnd: @escaping (Result<SpawnedProcess, SpawnError>) -> Void
    ) throws(SpawnError) -> PendingLaunch
    func openProcess(_ pid: Int32) throws(LinuxError) -> Pidfd
    func timer(
        on loop: EventLoop, priority: EventLoop.Priority, handler: @escaping (Timer.Firing) -> Void
    ) throws(LinuxError) -> Timer
    func watch(
        _ descriptor: OwnedDescriptor, on loop: EventLoop, priority: EventLoop.Priority, handler: @escaping () -> Void
    ) throws(LinuxError) -> IOSource
    /// The member is paused at first: nothing is read before the launch's process is known.
    func watch(
        _ descriptor: OwnedDescriptor, in source: SharedSource, pace: TokenBucket?, handler: @escaping () -> Void
    ) throws(LinuxError) -> SharedSource.Member
    /// Signals the process group of an unreaped child, whose id can only mean that group.
    func signalGroup(ledBy process: Pidfd, _ signal: Int32)
    /// A child with an exit, stop or continuation that nobody has handled.
    func changedChild() -> Int32?
    /// Handles the change of a child without an owner; reaps it if it has ended.
    func takeChange(of child: Int32)
    func reapOrphans(except supervised: Set<Int32>)
}

/// The real system.
package struct LinuxSystem: LaunchSystem {
    package func createCgroup(_ name: String, in parent: CgroupParent) throws(LinuxError) -> Cgroup {
        try parent.create(app: name)
    }

    package func createCgroup(_ name: String, below cgroup: Cgroup) throws(LinuxError) -> Cgroup {
        try cgroup.child(name)
    }

    package func openDirectory(of cgroup: Cgroup) throws(LinuxError) -> OwnedDescriptor { try cgroup.directory() }

    package func openNull() throws(LinuxError) -> OwnedDescriptor {
        try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
    }

    package func bindNotifySocket(_ name: String, in directory: RuntimeDirectory) throws(LinuxError) -> NotifySocket {
        try NotifySocket(in: directory, name: name)
    }

    package func bindNotifySocket(at address: String) throws(LinuxError) -> NotifySocket {
        try NotifySocket(address: address)
    }

    package func socketPair() throws(LinuxError) -> (supervisor: Channel, app: OwnedDescriptor) { try Channel.pair() }

    package func launch(
        _ request: SpawnRequest, by launcher: Launcher, onHeld: ((HeldProcess) -> Void)?,
        onEnd: @escaping (Result<SpawnedProcess, SpawnError>) -> Void
    ) throws(SpawnError) -> PendingLaunch {
        launcher.launch(request, onHeld: onHeld, onEnd: onEnd)
    }

    package func openProcess(_ pid: Int32) throws(LinuxError) -> Pidfd { try Pidfd(opening: pid) }

    package func timer(
        on loop: EventLoop, priority: EventLoop.Priority, handler: @escaping (Timer.Firing) -> Void
    ) throws(LinuxError) -> Timer {
        try loop.timer(priority: priority, handler: handler)
    }

    package func watch(
        _ descriptor: OwnedDescriptor, on loop: EventLoop, priority: EventLoop.Priority, handler: @escaping () -> Void
    ) throws(LinuxError) -> IOSource {
        try loop.onReadable(descriptor, priority: priority, handler: handler)
    }

    package func watch(
        _ descriptor: OwnedDescriptor, in source: SharedSource, pace: TokenBucket?, handler: @escaping () -> Void
    ) throws(LinuxError) -> SharedSource.Member {
        try source.add(descriptor, pace: pace, isPaused: true, handler: handler)
    }

    package func signalGroup(ledBy process: Pidfd, _ signal: Int32) { try? process.sendToGroup(signal) }

    package func changedChild() -> Int32? { Subreaper.changedChild() }

    package func takeChange(of child: Int32) { Subreaper.takeChange(of: child) }

    package func reapOrphans(except supervised: Set<Int32>) { _ = Subreaper.reapOrphans(except: supervised) }
}
