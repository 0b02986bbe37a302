// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy

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
        probeProcess = try start(request, .command, for: limit) { [unowned self] status in
            let hasTimedOut = probeProcess?.hasTimedOut == true
            forgetCommand()
            onEnd(hasTimedOut ? nil : status)
        }
        keepCommands()
    }

    func cancelCommand() {
        probeProcess?.cancel()
        forgetCommand()
    }

    private func forgetCommand() {
        if let probeProcess { release(probeProcess, .command) }
        probeProcess = nil
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
