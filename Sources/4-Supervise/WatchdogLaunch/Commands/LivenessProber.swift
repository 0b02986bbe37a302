// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// Runs the liveness probes of one launch, one after the other.
///
/// Isolation: the loop's thread.
final class LivenessProber {
    private let host: Host
    @Shared private var launch: LaunchConfiguration
    private let slot: CommandSlot
    private let evidence: LaunchEvidence
    private let emit: (LaunchEvent) -> Void
    private var connection: ConnectionProbe?
    /// The latest one that was not answered in time: its end would wake the server that may be captured now.
    private var unanswered: ConnectionProbe?
    /// The number of the check whether the connection is still not answered.
    private var look: Int?
    private let commandLook: CommandLook
    /// Whether a probe was answered; until then, the launch may end before half of a probe's timeout has passed.
    private var hasAnswered = false

    init(
        _ host: Host, _ launch: Shared<LaunchConfiguration>, _ slot: CommandSlot, _ evidence: LaunchEvidence,
        emit: @escaping (LaunchEvent) -> Void
    ) {
        self.host = host
        _launch = launch
        self.slot = slot
        self.evidence = evidence
        self.emit = emit
        commandLook = CommandLook(host, at: slot, evidence)
    }

    /// Starts a probe; reports `livenessProbed`, possibly before this returns.
    func probe(id: Int) {
        stop()
        var isOver = false
        let end = { [unowned self] (result: ProbeResult) in
            isOver = true
            connection = nil
            host.pacer.cancel(look)
            if result == .answered { hasAnswered = true }
            if case .command = launch.livenessTarget {
                commandLook.end(isAnswered: result == .answered)
            } else {
                evidence.forgetServer()
            }
            emit(.machine(.livenessProbed(id: id, result)))
        }
        let started = begin(end)
        // It may have ended already.
        if !isOver { connection = started }
    }

    private func begin(_ end: @escaping (ProbeResult) -> Void) -> ConnectionProbe? {
        switch launch.livenessTarget {
        case .connect(let address): return connect(to: address, .accept, end)
        case .http(let request): return ask(request, end)
        case .command(let command): run(command, end)
        case nil: break
        }
        return nil
    }

    /// Cancels the probe, and closes its connection.
    func stop() {
        cancel()
        unanswered = nil
    }

    /// Cancels the probe, whose connection stays open until the next one or the end of the launch.
    func cancel() {
        host.pacer.cancel(look)
        connection?.abandon()
        unanswered = connection ?? unanswered
        connection = nil
        commandLook.end(isAnswered: false)
        slot.cancel()
    }

    /// How long a probe has for its answer.
    private var timeout: Duration? {
        guard let timeout = launch.spec.livenessProbe?.timeout else { return nil }
        return hasAnswered ? timeout : min(timeout, launch.spec.allowances.launch / 2)
    }

    private func connect(
        to address: NetworkAddress, _ exchange: ConnectionProbe.Exchange, _ end: @escaping (ProbeResult) -> Void
    ) -> ConnectionProbe {
        if let timeout {
            // A connection tells who has accepted it only while it exists.
            look = host.pacer.schedule(after: timeout / 2) { [unowned self] in
                evidence.findServer(
                    of: UnansweredConnection(accepted: connection?.acceptedSocket, address: address))
            }
        }
        return ConnectionProbe(
            of: SocketAddress.candidates(for: address), exchange, on: host.loop, closer: host.closer,
            owner: launch.credentials?.user ?? host.userID, onEnd: end)
    }

    private func ask(_ probe: HTTPProbe, _ end: @escaping (ProbeResult) -> Void) -> ConnectionProbe {
        // A text is not found in a compressed body.
        let plain = probe.body == nil ? [] : ["Accept-Encoding: identity"]
        let request =
            [
                "GET \(probe.path) HTTP/1.1", "Host: \(probe.authority)", "User-Agent: watchdogd", "Accept: */*",
                "Connection: close",
            ] + plain + ["", ""]
        let expectation = HTTPAnswer.Expectation(statuses: probe.statuses, body: probe.body)
        return connect(
            to: probe.address, .http(request: Array(request.joined(separator: "\r\n").utf8), expectation), end)
    }

    private func run(_ command: String, _ end: @escaping (ProbeResult) -> Void) {
        do {
            var request = SpawnRequest(shell: command, asIn: launch)
            // Nobody needs its output every few seconds.
            let null = try host.system.openNull()
            request.descriptors = (0...2).map { .init(null.number, as: $0) }
            defer { withExtendedLifetime(null) {} }
            if let timeout { commandLook.begin(within: timeout) }
            slot.run(request, for: nil) { result in
                switch result {
                case .success(let status): end(Self.result(of: status ?? .unknown))
                case .failure(let error): end(.impossible("\(error)"))
                }
            }
        } catch {
            end(.impossible("\(error)"))
        }
    }

    private static func result(of status: ExitStatus) -> ProbeResult {
        switch status {
        case .exited(code: 0): .answered
        // The shell's codes for a command that is missing or not executable.
        case .exited(code: 126), .exited(code: 127): .impossible("the command \(status.words)")
        case .exited, .signaled, .unknown: .failed("the command \(status.words)")
        }
    }
}
