// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import WatchdogCapture
import WatchdogLinux
import WatchdogReport

/// Turns captures into reports on disk, one after the other, away from the loop.
///
/// Isolation: `write` may be called from any thread and never blocks; results come by mailbox.
final class ReportWriter: Sendable {
    /// Reports that may wait; one more is given up, and says so.
    private static let limit = 16

    let store: ReportStore
    let symbolicator: Symbolicator
    private let mailbox: Mailbox<Host.Message>
    private let queue = DispatchQueue(label: "org.watchdogd.reports")
    /// Where systemd-coredump is waited for, so that no report waits behind.
    private let examining = DispatchQueue(label: "org.watchdogd.crashes", attributes: .concurrent)
    private let waiting = Mutex(0)

    init(store: ReportStore, symbolicator: Symbolicator, mailbox: Mailbox<Host.Message>) {
        self.store = store
        self.symbolicator = symbolicator
        self.mailbox = mailbox
    }

    /// Writes the report of an incident; ends in a ``Host/Message/reported(app:incident:_:)``.
    ///
    /// - Parameter isRepeated: whether the watchdogd before this one may have written it already.
    func write(
        app: Int, incident: Int, facts: IncidentFacts, host: HostFacts, capture: CaptureOutcome, log: LogSource? = nil,
        watch: HangWatch? = nil, postMortem: PostMortem? = nil, isRepeated: Bool = false
    ) {
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
        let finish: @Sendable (ReportOutcome) -> Void = { [self] outcome in
            waiting.withLock { $0 -= 1 }
            mailbox.post(.reported(app: app, incident: incident, outcome))
        }
        let written: @Sendable () -> ReportOutcome? = { [store] in
            guard isRepeated, let report = store.report(of: facts.id, app: facts.appName) else { return nil }
            return ReportOutcome(verdict: Verdict(of: facts), path: report.path)
        }
        guard let postMortem else {
            queue.async { [self] in finish(written() ?? makeReport(facts, host, capture, log, watch)) }
            return
        }
        examining.async { [self] in
            if let outcome = written() { return finish(outcome) }
            var facts = facts
            let finding = find(postMortem, &facts)
            queue.async { [self, facts] in finish(makeCrashReport(facts, host, finding, log)) }
        }
    }

    private func makeReport(
        _ facts: IncidentFacts, _ host: HostFacts, _ capture: CaptureOutcome, _ log: LogSource?, _ watch: HangWatch?
    ) -> ReportOutcome {
        var facts = facts
        var captured: CapturedProcess?
        let record = watch?.record(within: .seconds(3))
        facts.evidence.strain = record?.strain
        (captured, facts.samples) = name(capture, record?.sampling, facts)
        facts.countPendingRunDelay()
        switch capture {
        case .taken:
            break
        case .sampled:
            captured = facts.samples.map { CapturedProcess(mostlySeenIn: $0) }
            facts.completeEvidence(from: captured)
        case .failed(let reason):
            captured = facts.samples.map { CapturedProcess(mostlySeenIn: $0) }
            facts.notes.append("The stacks could not be taken: \(reason).")
        }
        return write(&facts, host, captured, log)
    }

    /// The stacks of the end and those of before, side by side: each takes a process of its own as long as the other.
    private func name(
        _ capture: CaptureOutcome, _ sampling: Sampling?, _ facts: IncidentFacts
    ) -> (CapturedProcess?, ProcessSamples?) {
        let captured = Mutex<CapturedProcess?>(nil)
        let samples = Mutex<ProcessSamples?>(nil)
        DispatchQueue.concurrentPerform(iterations: 2) { part in
            if part == 0 {
                let named = sampling?.samples(
                    named: facts.appName, path: facts.executablePath, at: facts.captureTime, with: symbolicator)
                samples.withLock { $0 = named }
            } else if case .taken(let snapshot) = capture {
                let named = symbolicator.symbolicate(snapshot)
                captured.withLock { $0 = named }
            }
        }
        return (captured.withLock(\.self), samples.withLock(\.self))
    }

    func write(
        _ facts: inout IncidentFacts, _ host: HostFacts, _ captured: CapturedProcess?, _ log: LogSource?
    ) -> ReportOutcome {
        // After the symbols: what the program printed last has reached the journal by now.
        facts.log = log.flatMap { LogDetails($0) }
        let report = Report(of: facts, on: host, capture: captured)
        var outcome = ReportOutcome(verdict: report.body.linux?.verdict ?? Verdict(of: facts))
        do {
            outcome.path = try store.write(report)
        } catch {
            outcome.failure = "\(error)"
        }
        return outcome
    }
}

extension LogDetails {
    /// The last lines of a program's output; nil when there are none.
    fileprivate init?(_ source: LogSource) {
        let lines = source.tail().map { Line(microseconds: $0.microseconds, text: $0.text) }
        guard !lines.isEmpty else { return nil }
        switch source {
        case .journal: self.init(source: .journal, lines: lines)
        case .file: self.init(source: .file, lines: lines)
        }
    }
}
