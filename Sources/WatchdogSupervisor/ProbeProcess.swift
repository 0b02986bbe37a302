// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy

/// One run of a command of an app that is not its program.
final class ProbeProcess {
    /// How long a readiness command may take before it is killed and counts as failed.
    static let readinessLimit = Duration.seconds(5)

    private let process: Pidfd
    private let startTime: UInt64?
    private let cgroup: Cgroup?
    /// Whether the cgroup was killed, and must not be used again.
    ///
    /// A process that is born into a cgroup by clone3(2) is killed if the cgroup ever was: the kernel compares its count of
    /// kills with that of the parent's cgroup, `cgroup_post_fork()` in kernel/cgroup/cgroup.c.
    private(set) var isCgroupSpent = false
    /// Whether it was killed because its time was up.
    private(set) var hasTimedOut = false
    private let onEnd: (ExitStatus) -> Void
    private var source: IOSource?
    private var timer: Timer?

    var pid: Int32 { process.pid }

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - request: the command; it gets a session of its own.
    ///   - cgroup: what it runs in, if nothing else does; where there is none, its session is killed in place of it.
    ///   - loop: where it is waited for.
    ///   - limit: after so long it is killed; nil leaves that to ``cancel()``.
    ///   - onEnd: called when it has ended, but not after ``cancel()``.
    init(
        _ request: SpawnRequest, in cgroup: Cgroup? = nil, on loop: EventLoop, limit: Duration?,
        onEnd: @escaping (ExitStatus) -> Void
    ) throws {
        var request = request
        request.cgroup = try cgroup?.directory()
        let spawned = try spawn(request)
        process = spawned.process
        startTime = spawned.startTime
        self.cgroup = cgroup
        self.onEnd = onEnd
        try watch(on: loop)
        guard let limit else { return }
        timer = try loop.timer { [unowned self] _ in
            hasTimedOut = true
            killTree()
        }
        timer?.arm(at: loop.now + limit)
    }

    /// Goes on with a command of the watchdogd before this one.
    ///
    /// - Parameters:
    ///   - process: what was started.
    ///   - kept: what is known of it.
    ///   - loop: where it is waited for.
    ///   - onEnd: called when it has ended, but not after ``cancel()``.
    init(_ process: Pidfd, _ kept: KeptCommand, on loop: EventLoop, onEnd: @escaping (ExitStatus) -> Void) throws {
        self.process = process
        startTime = kept.startTime ?? ProcessStat.read(process.pid)?.startTime
        cgroup = kept.cgroup.flatMap { try? Cgroup(opening: $0) }
        self.onEnd = onEnd
        try watch(on: loop)
    }

    private func watch(on loop: EventLoop) throws {
        source = try loop.onReadable(process.descriptor, priority: .important) { [unowned self] in reap() }
    }

    /// By what the next watchdogd finds it.
    var kept: KeptCommand { KeptCommand(pid: pid, startTime: startTime, cgroup: cgroup?.path) }

    func reap() {
        guard source != nil, let exit = try? process.waitExit() else { return }
        source?.cancel()
        timer?.cancel()
        source = nil
        killTree()
        onEnd(exit.status)
    }

    /// Ends it before its time, without an answer.
    func cancel() {
        guard source != nil else { return }
        source?.cancel()
        timer?.cancel()
        source = nil
        killTree()
    }

    /// What the command left behind is in the session and the cgroup that it was given.
    private func killTree() {
        kill(-pid, SIGKILL)
        guard let cgroup, cgroup.isPopulated != false else { return }
        try? cgroup.kill()
        isCgroupSpent = true
    }
}
