// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogCapture
import WatchdogLinux

/// What the reports of an app lack because earlier reads of its memory, or of that of other apps of its user, have not
/// returned; says so once.
///
/// Isolation: the loop's thread.
package final class ReportGaps {
    /// For the threads that sample hanging apps.
    let samplers = ThreadSeats(limits: samplerLimits)
    static let samplerLimits = StuckWaits.Limits(app: 2, user: 8, all: 24)

    private let captureThread: CaptureThread
    private let examiner: Examiner?
    private let log: EventLog
    private var told: Set<StuckWaits.Refusal.Scope> = []

    init(_ captureThread: CaptureThread, _ examiner: Examiner?, _ log: EventLog) {
        self.captureThread = captureThread
        self.examiner = examiner
        self.log = log
        examiner?.onRefusal = { [unowned self] in tell($0, of: $1) }
        examiner?.onReturn = { [unowned self] in
            let words = "reports say again what is waited for: the process that starts examiners runs again"
            self.log.tell(nil, line: words)
        }
    }

    /// What a report of a tenant would lack now, in one phrase each; empty if nothing.
    func phrases(of tenant: Tenant) -> [String] {
        [
            captureRefusal(of: tenant).map { "no stacks: \($0.words("capture"))" },
            examiner?.refusal(of: tenant).map { Self.phrase($0) },
        ].compactMap(\.self)
    }

    private func captureRefusal(of tenant: Tenant) -> StuckWaits.Refusal? {
        guard case .stuck(let refusal) = captureThread.refusal(of: tenant, at: .now()) else { return nil }
        return refusal
    }

    private static func phrase(_ refusal: Examiner.Refusal) -> String { "not what it waits for: \(refusal)" }

    /// Says that captures of a tenant are refused, if they are and that has not been said since they began to be.
    package func captured(of tenant: Tenant) {
        guard let refusal = captureRefusal(of: tenant) else {
            told.subtract([.app(tenant), .user(tenant.user), .all])
            return
        }
        guard told.insert(refusal.scope).inserted else { return }
        let text = "reports have no stacks: \(refusal.words("capture"))"
        tell(.captureFailed, text, of: tenant)
    }

    private func tell(_ refusal: Examiner.Refusal, of tenant: Tenant?) {
        var text = "reports do not say what is waited for: \(refusal)"
        if case .stuck(let stuck) = refusal, stuck.until != nil {
            text += "; the next examination is in \(TimeSpan.text(ExaminationBudget.recovery)) at the latest"
        }
        tell(.examinationsPaused, text, of: tenant)
    }

    private func tell(_ kind: EventKind, _ text: String, of tenant: Tenant?) {
        let subject = tenant.map { EventSubject(app: $0.app) }
        let line = (tenant.map { "\($0.app.singleLine(limit: 64)): " } ?? "") + text
        log.tell(JournalEntry(kind, line, about: subject), line: line)
    }
}
