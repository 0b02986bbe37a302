// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// A liveness probe that is under way.
enum LivenessAttempt {
    case connection(ConnectionProbe)
    case command(ProbeProcess)

    func cancel() {
        switch self {
        case .connection(let probe): probe.cancel()
        case .command(let process): process.cancel()
        }
    }
}

extension LinuxKernel {
    func probeLiveness(id: Int) {
        cancelLivenessProbe()
        var isOver = false
        let end = { [unowned self] (result: ProbeResult) in
            isOver = true
            forgetAttempt()
            supervisor?.livenessProbeEnded(id: id, result)
        }
        let attempt: LivenessAttempt? =
            switch configuration.livenessTarget {
            case .connect(let address): .connection(connect(to: address, .accept, end))
            case .http(let request): .connection(ask(request, end))
            case .command(let command): run(command, end)
            case nil: nil
            }
        // It may have ended before it was there to be remembered.
        guard !isOver else { return }
        livenessAttempt = attempt
        if case .command? = attempt { keepCommands() }
    }

    func cancelLivenessProbe() {
        livenessAttempt?.cancel()
        forgetAttempt()
    }

    private func forgetAttempt() {
        if let livenessCommand { release(livenessCommand, .probe) }
        livenessAttempt = nil
    }

    private func connect(
        to address: NetworkAddress, _ exchange: ConnectionProbe.Exchange, _ end: @escaping (ProbeResult) -> Void
    ) -> ConnectionProbe {
        ConnectionProbe(
            of: SocketAddress.candidates(for: ListenAddress(address)), exchange, on: loop, onEnd: end)
    }

    private func ask(_ probe: HTTPProbe, _ end: @escaping (ProbeResult) -> Void) -> ConnectionProbe {
        let request = [
            "GET \(probe.path) HTTP/1.1", "Host: \(probe.authority)", "User-Agent: watchdogd", "Accept: */*",
            "Connection: close", "", "",
        ]
        let expectation = HTTPAnswer.Expectation(statuses: probe.statuses, body: probe.body)
        return connect(
            to: probe.address, .http(request: Array(request.joined(separator: "\r\n").utf8), expectation), end)
    }

    private func run(_ command: String, _ end: @escaping (ProbeResult) -> Void) -> LivenessAttempt? {
        do {
            var request = shellRequest(for: command)
            // What it says, every few seconds, is for nobody.
            let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
            request.descriptors = (0...2).map { .init(null.number, as: $0) }
            defer { withExtendedLifetime(null) {} }
            return .command(try start(request, .probe, for: nil) { end(Self.result(of: $0)) })
        } catch {
            end(.impossible("\(error)"))
            return nil
        }
    }

    private static func result(of status: ExitStatus) -> ProbeResult {
        switch status {
        case .exited(code: 0): .answered
        // The shell's own words for a command that is not there or cannot be run.
        case .exited(code: 126), .exited(code: 127): .impossible("the command \(status.words)")
        case .exited, .signaled, .unknown: .failed("the command \(status.words)")
        }
    }
}
