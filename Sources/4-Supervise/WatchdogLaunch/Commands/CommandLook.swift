// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// Finds out, while a command probes an app, which process of the app it waits for: afterwards nobody knows.
///
/// Isolation: the loop's thread.
final class CommandLook {
    private let pacer: Pacer
    private let slot: CommandSlot
    private let evidence: LaunchEvidence
    /// The numbers of the checks that are still to come; nil while no command runs.
    private var checks: [Int]?

    /// - Parameter slot: where the commands run.
    init(_ host: Host, at slot: CommandSlot, _ evidence: LaunchEvidence) {
        pacer = host.pacer
        self.slot = slot
        self.evidence = evidence
    }

    /// Notes that a command starts.
    ///
    /// Half of its time must pass, as for a connection. Commands often have a shorter limit of their own, so a quarter is tried before.
    ///
    /// - Parameter limit: how long it may take.
    func begin(within limit: Duration) {
        cancelChecks()
        evidence.beginSearch()
        checks = [4, 2].map { part in
            pacer.schedule(after: limit / part) { [weak self] in self?.look() }
        }
    }

    /// Notes that the command has ended, or is about to be killed; does nothing if none has started.
    func end(isAnswered: Bool) {
        guard checks != nil else { return }
        cancelChecks()
        if isAnswered { evidence.forgetServer() } else { evidence.endSearch() }
    }

    private func look() {
        guard !evidence.hasFoundServer, let command = slot.examined else { return }
        evidence.findServer(askedBy: command)
    }

    private func cancelChecks() {
        for check in checks ?? [] { pacer.cancel(check) }
        checks = nil
    }
}
