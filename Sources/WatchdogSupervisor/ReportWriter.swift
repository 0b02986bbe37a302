// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import WatchdogCapture
import WatchdogLinux
import WatchdogReport

/// Turns captures into reports on disk, one after the other, away from the loop.
///
/// Isolation: ``write(app:incident:facts:host:capture:)`` may be called from any thread and never blocks; results come by mailbox.
final class ReportWriter: Sendable {
    /// Reports that may wait; one more is given up, and says so.
    private static let limit = 16

    private let store: ReportStore
    private let symbolicator: Symbolicator
    private let mailbox: Mailbox<Host.Message>
    private let queue = DispatchQueue(label: "org.watchdogd.reports")
    private let waiting = Mutex(0)

    init(store: ReportStore, symbolicator: Symbolicator, mailbox: Mailbox<Host.Message>) {
        self.store = store
        self.symbolicator = symbolicator
        self.mailbox = mailbox
    }

    /// Writes the report of an incident; ends in a ``Host/Message/reported(app:incident:_:)``.
    func write(app: Int, incident: Int, facts: IncidentFacts, host: HostFacts, capture: CaptureOutcome) {
        let isAccepted = waiting.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        guard isAccepted else {
            let outcome = ReportOutcome(
                verdict: Verdict(of: facts), failure: "too many reports are waiting")
            mailbox.post(.reported(app: app, incident: incident, outcome))
            return
        }
        queue.async { [self] in
            let outcome = makeReport(facts, host, capture)
            waiting.withLock { $0 -= 1 }
            mailbox.post(.reported(app: app, incident: incident, outcome))
        }
    }

    private func makeReport(_ facts: IncidentFacts, _ host: HostFacts, _ capture: CaptureOutcome) -> ReportOutcome {
        var facts = facts
        var captured: CapturedProcess?
        switch capture {
        case .taken(let snapshot):
            captured = symbolicator.symbolicate(snapshot)
        case .failed(let reason):
            facts.notes.append("The stacks could not be taken: \(reason).")
        }
        var outcome = ReportOutcome(verdict: Verdict(of: facts))
        do {
            outcome.path = try store.write(Report(of: facts, on: host, capture: captured))
        } catch {
            outcome.failure = "\(error)"
        }
        return outcome
    }
}
