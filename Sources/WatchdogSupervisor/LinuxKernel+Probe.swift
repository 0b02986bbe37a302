// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy

/// One run of a command that tells whether an app is ready or lives.
final class ProbeProcess {
    /// How long a readiness command may take before it is killed and counts as failed.
    static let readinessLimit = Duration.seconds(5)

    private let process: Pidfd
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
        process = try spawn(request).process
        self.cgroup = cgroup
        self.onEnd = onEnd
        source = try loop.onReadable(process.descriptor, priority: .important) { [unowned self] in reap() }
        guard let limit else { return }
        timer = try loop.timer { [unowned self] _ in
            hasTimedOut = true
            killTree()
        }
        timer?.arm(at: loop.now + limit)
    }

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

extension LinuxKernel {
    func probe() {
        switch configuration.probe {
        case .listening(let address):
            let socket = main.flatMap { ListeningSocket.find(address, inNamespaceOf: $0.process.pid) }
            supervisor?.probeEnded(isReady: socket != nil)
        case .command(let command):
            runProbe(command)
        case nil:
            supervisor?.probeEnded(isReady: false)
        }
    }

    /// Runs a command of the app that is not its program.
    ///
    /// - Parameters:
    ///   - limit: after so long it is killed.
    ///   - onEnd: gets how it ended; nil when it was killed so.
    func run(_ request: SpawnRequest, for limit: Duration, onEnd: @escaping (ExitStatus?) -> Void) throws {
        var request = request
        if let scheduling = host.scheduling { request.withdraw(scheduling) }
        probeProcess = try ProbeProcess(request, on: loop, limit: limit) { [unowned self] status in
            let hasTimedOut = probeProcess?.hasTimedOut == true
            probeProcess = nil
            onEnd(hasTimedOut ? nil : status)
        }
    }

    /// A command that looks at the app from outside, with the app's environment, directory and rights.
    func shellRequest(for command: String) -> SpawnRequest {
        var request = SpawnRequest(
            executable: "/bin/sh",
            arguments: ["/bin/sh", "-c", ByteString(command)],
            environment: configuration.environment
        )
        request.workingDirectory = configuration.workingDirectory.map { ByteString($0) }
        request.credentials = configuration.credentials
        return request
    }

    private func runProbe(_ command: String) {
        do {
            try run(shellRequest(for: command), for: ProbeProcess.readinessLimit) { [unowned self] status in
                supervisor?.probeEnded(isReady: status == .exited(code: 0))
            }
        } catch {
            StandardError.mention("the readiness command cannot be run: \(error)")
            supervisor?.probeEnded(isReady: false)
        }
    }
}
