// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// One run of a command of an app (not its program).
///
/// Isolation: the loop's thread.
final class CommandProcess {
    private let system: any LaunchSystem
    /// Nil while the command is being started.
    private var session: CommandSession?
    private var pending: PendingLaunch?
    private let cgroup: Cgroup?
    /// Whether the cgroup was killed and must not be used again.
    ///
    /// clone3(2) into a cgroup that was ever killed kills the new process: the kernel compares the cgroup's kill count
    /// with that of the parent's cgroup, `cgroup_post_fork()` in kernel/cgroup/cgroup.c.
    private(set) var isCgroupSpent = false
    /// Whether it was killed because it timed out.
    private(set) var hasTimedOut = false
    private let onEnd: (Result<ExitStatus, any Error>) -> Void
    private var source: IOSource?
    private var timer: Timer?

    /// Nil while the command is being started.
    var pid: Int32? { session?.process.pid }

    /// The command while it runs; nil before and afterward.
    var examined: ExaminedProcess? {
        guard source != nil, let session, let startTime = session.startTime else { return nil }
        return ExaminedProcess(id: session.process.pid, startTime: startTime, cgroup: nil)
    }

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - request: the command; it gets its own session.
    ///   - cgroup: contains the command and nothing else; without one, the command's session is killed instead.
    ///   - limit: the command is killed after this time; nil leaves that to ``cancel()``.
    ///   - onStart: called when it is running.
    ///   - onEnd: called when it has ended, or with the reason it could not be started or watched; not after
    ///     ``cancel()``.
    /// - Throws: if it cannot be started. A failed start leaves nothing running, but spends `cgroup`.
    init(
        _ request: SpawnRequest, in cgroup: Cgroup?, on host: Host, limit: Duration?,
        onStart: @escaping () -> Void = {}, onEnd: @escaping (Result<ExitStatus, any Error>) -> Void
    ) throws {
        system = host.system
        self.cgroup = cgroup
        self.onEnd = onEnd
        var request = request
        request.cgroup = try cgroup.map { try host.system.openDirectory(of: $0) }
        // Create the timer before there is a process that would have to be killed if this failed.
        timer = try limit.map { _ in try host.timer { [unowned self] _ in timeOut() } }
        pending = try host.launch(request) { [unowned self] result in
            pending = nil
            do {
                let spawned = try result.get()
                session = CommandSession(process: spawned.process, startTime: spawned.startTime)
                try watch(on: host)
                if let limit { timer?.arm(at: host.loop.now + limit) }
                onStart()
            } catch {
                isCgroupSpent = true
                leave()
                onEnd(.failure(error))
            }
        }
    }

    /// Resumes a command of the previous watchdogd.
    ///
    /// - Parameters:
    ///   - process: the process that was started.
    ///   - kept: what is known of it.
    ///   - onEnd: called when it has ended, but not after ``cancel()``.
    init(
        _ process: Pidfd, _ kept: KeptCommand, on host: Host, onEnd: @escaping (Result<ExitStatus, any Error>) -> Void
    ) throws {
        system = host.system
        session = CommandSession(
            process: process, startTime: kept.startTime ?? ProcessStat.read(process.pid)?.startTime)
        cgroup = kept.cgroup.flatMap { try? Cgroup(opening: $0) }
        self.onEnd = onEnd
        try watch(on: host)
    }

    private func watch(on host: Host) throws(LinuxError) {
        guard let session else { return }
        do throws(LinuxError) {
            source = try host.watch(session.process.descriptor, priority: .important) { [unowned self] in reap() }
        } catch {
            killTree()
            throw error
        }
    }

    /// What the next watchdogd needs to find it.
    var kept: KeptCommand { KeptCommand(pid: pid, startTime: session?.startTime, cgroup: cgroup?.path) }

    /// Handles the end of the command, if it has ended.
    func reap() {
        guard source != nil, let session, session.process.hasExited else { return }
        // Kill before reaping: afterwards the command's id may no longer name its session.
        killTree()
        var status = ExitStatus.unknown
        do {
            guard let exit = try session.process.waitExit() else { return }
            status = exit.status
        } catch {}
        leave()
        onEnd(.success(status))
    }

    /// Kills the command; `onEnd` is not called.
    func cancel() {
        guard source != nil || pending != nil else { return }
        leave()
        killTree()
    }

    private func timeOut() {
        hasTimedOut = true
        killTree()
    }

    private func leave() {
        pending?.cancel()
        source?.cancel()
        timer?.cancel()
        (pending, source) = (nil, nil)
    }

    /// Kills the session and the cgroup of the command.
    private func killTree() {
        session?.kill(on: system)
        guard let cgroup, cgroup.isPopulated != false else { return }
        try? cgroup.kill()
        isCgroupSpent = true
    }
}

/// The session that a command leads, with all processes that stayed in it.
struct CommandSession {
    let process: Pidfd
    let startTime: UInt64?

    /// Kills the command and what remains of its session.
    ///
    /// The command's process id names its session only until the command is reaped. For a child, watchdogd decides when
    /// that happens. Any other process may be reaped at any time, so each member is held by a pidfd before it is
    /// killed.
    func kill(on system: any LaunchSystem = LinuxSystem()) {
        try? process.send(SIGKILL)
        let isOurs = ProcessStat.read(process.pid)?.parent == getpid()
        if isOurs, DescriptorKind(of: process.descriptor) == .process(process.pid) {
            system.signalGroup(ledBy: process, SIGKILL)
        } else if let startTime {
            try? Containment.processTree(ProcessTree(root: process.pid, startTime: startTime)).kill()
        }
    }
}
