// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
package import WatchdogRendering
package import WatchdogReport
import WatchdogReportStore
package import WatchdogVerdict

/// The outcome of the tries to name a report.
package struct NamedReport: Sendable {
    package let app: Int
    package let appName: String
    package let pid: Int
    package let incident: IncidentKey
    package let id: IncidentID
    package let path: String
    /// What the report says now; nil if it was not rewritten.
    package var explanation: Explanation?
    package var verdict: Verdict?
    /// Whether all names were found and written.
    var isWhole = false
}

/// Adds names to reports that were written without them, when there is time for it: in the background, behind
/// everything else, a few times.
///
/// A report is rewritten once, atomically: with all names, or after the last try with those that were found.
///
/// Isolation: any thread may use it; no call waits. Results arrive through the mailbox.
final class LateNames: Sendable {
    private let store: ReportStore
    private let symbolicator: Symbolicator
    private let mailbox: Mailbox<Host.Message>
    private let queue = DispatchQueue(label: "org.watchdogd.late-names", qos: .background)
    private let tries: Mutex<NamingTries<any NamingJob>>
    private let leftDelay: Duration
    /// How many outcomes the loop has not heard of.
    private let untold = Mutex(0)
    private let rewriting = Mutex((isUnderWay: false, isClosed: false))

    init(
        _ store: ReportStore, _ symbolicator: Symbolicator, _ mailbox: Mailbox<Host.Message>,
        delays: [Duration] = NamingTries<any NamingJob>.delays
    ) {
        self.store = store
        self.symbolicator = symbolicator.patient
        self.mailbox = mailbox
        tries = Mutex(NamingTries(delays: delays))
        leftDelay = delays.first ?? .zero
    }

    /// Whether no report waits, and the loop has heard of all.
    var isIdle: Bool { tries.withLock { $0.count == 0 } && untold.withLock { $0 == 0 } }

    /// Notes that the loop has heard of an outcome.
    func wasTold() { untold.withLock { $0 -= 1 } }

    /// Rewrites no report from now on.
    ///
    /// - Returns: whether none is being rewritten; if one is, its outcome arrives, and the process must not end before.
    func close() -> Bool {
        rewriting.withLock { state in
            state.isClosed = true
            return !state.isUnderWay
        }
    }

    /// Reserves room for a report's stacks; false if there is none.
    func reserve(_ cost: StackBacklog.Cost) -> Bool { tries.withLock { $0.reserve(cost) } }

    /// Gives the room back.
    func release(_ cost: StackBacklog.Cost) { tries.withLock { $0.release(cost) } }

    /// Tries to name a report later, for which there is a reservation.
    ///
    /// - Parameter writing: the queue on which reports of its kind are written, so that nobody else changes it meanwhile.
    func add(_ report: any NamingJob, _ cost: StackBacklog.Cost, writing: DispatchQueue) {
        tries.withLock { $0.add(report, cost, at: .now()) }
        schedule(writing)
    }

    /// Takes up the newest reports that an earlier watchdogd has left without names, a moment after the start.
    func resume(writing: DispatchQueue) {
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: leftDelay.nanoseconds))) { [self] in
            // They hold nothing but their names.
            let cost = StackBacklog.Cost()
            for report in LeftReport.find(in: store, at: .now()) where reserve(cost) {
                add(report, cost, writing: writing)
            }
        }
    }

    /// Tries all that wait once more at once, and then no more.
    func hurry(writing: DispatchQueue) {
        tries.withLock { $0.hurry(at: .now()) }
        schedule(writing)
    }

    private func schedule(_ writing: DispatchQueue) {
        guard let due = tries.withLock({ $0.due }) else { return }
        let delay = max(.zero, due - .now())
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.nanoseconds))) { [self] in work(writing) }
    }

    private func work(_ writing: DispatchQueue) {
        while let entry = tries.withLock({ $0.next(at: .now()) }) {
            let isWhole = entry.job.name(with: symbolicator)
            guard isWhole || entry.isLast else {
                tries.withLock { $0.failed(entry, at: .now()) }
                continue
            }
            let mayWrite = rewriting.withLock { state in
                state.isUnderWay = !state.isClosed
                return state.isUnderWay
            }
            guard mayWrite else { return }
            let outcome = writing.sync { rewrite(entry.job, isWhole: isWhole) }
            // Who waits for names must not leave between the two.
            untold.withLock { $0 += 1 }
            tries.withLock { $0.finished(entry) }
            rewriting.withLock { $0.isUnderWay = false }
            mailbox.post(.named(outcome))
        }
        schedule(writing)
    }

    private func rewrite(_ job: any NamingJob, isWhole: Bool) -> NamedReport {
        var outcome = NamedReport(
            app: job.app, appName: job.appName, pid: job.pid, incident: job.incident, id: job.id, path: job.path)
        guard let name = job.path.split(separator: "/").last, let stored = try? store.find(String(name)),
            // Someone may have removed or edited it, or put a link in its place.
            stored.isInStore, let old = try? store.read(stored),
            let new = job.report(replacing: old, at: .now(), isWhole: isWhole),
            (try? store.replace(stored, with: new)) != nil
        else { return outcome }
        outcome.isWhole = isWhole
        outcome.explanation = Explanation(of: new)
        outcome.verdict = new.body.linux?.verdict
        return outcome
    }
}

extension NamedReport {
    /// What people and the journal are told; nil if the report is as it was.
    package func line(name: String) -> String? {
        guard let explanation else { return nil }
        return isWhole
            ? "\(name): names were added to \(path): \(explanation.line)"
            : "\(name): not all names could be added to \(path)"
    }
}
