// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy

/// One run of a readiness command.
final class ProbeProcess {
    /// How long a command may take before it is killed and counts as failed.
    static let limit = Duration.seconds(5)

    private let process: Pidfd
    private let onEnd: (Bool) -> Void
    private var source: IOSource?
    private var timer: Timer?

    var pid: Int32 { process.pid }

    init(
        _ request: SpawnRequest, on loop: EventLoop, limit: Duration = limit, onEnd: @escaping (Bool) -> Void
    ) throws {
        process = try spawn(request).process
        self.onEnd = onEnd
        source = try loop.onReadable(process.descriptor, priority: .important) { [unowned self] in reap() }
        timer = try loop.timer { [unowned self] _ in kill(-pid, SIGKILL) }
        timer?.arm(at: loop.now + limit)
    }

    func reap() {
        guard source != nil, let exit = try? process.waitExit() else { return }
        source?.cancel()
        timer?.cancel()
        source = nil
        // What the command left behind is in the session that it was given.
        kill(-pid, SIGKILL)
        onEnd(exit.status == .exited(code: 0))
    }

    /// Ends it before its time, without an answer.
    func cancel() {
        guard source != nil else { return }
        source?.cancel()
        timer?.cancel()
        source = nil
        kill(-pid, SIGKILL)
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

    /// Runs a command of the app that is not its program, for so long at most.
    func run(_ request: SpawnRequest, for limit: Duration, onEnd: @escaping (Bool) -> Void) throws {
        var request = request
        if let scheduling = host.scheduling { request.withdraw(scheduling) }
        probeProcess = try ProbeProcess(request, on: loop, limit: limit) { [unowned self] isSuccess in
            probeProcess = nil
            onEnd(isSuccess)
        }
    }

    private func runProbe(_ command: String) {
        var request = SpawnRequest(
            executable: "/bin/sh",
            arguments: ["/bin/sh", "-c", ByteString(command)],
            environment: configuration.environment
        )
        request.workingDirectory = configuration.workingDirectory.map { ByteString($0) }
        request.credentials = configuration.credentials
        do {
            probeProcess = try ProbeProcess(request, on: loop) { [unowned self] isReady in
                probeProcess = nil
                supervisor?.probeEnded(isReady: isReady)
            }
        } catch {
            StandardError.mention("the readiness command cannot be run: \(error)")
            supervisor?.probeEnded(isReady: false)
        }
    }
}
