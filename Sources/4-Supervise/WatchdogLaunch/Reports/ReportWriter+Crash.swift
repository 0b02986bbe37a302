// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
package import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

extension ReportWriter {
    /// Searches for what the process left.
    package func find(_ postMortem: PostMortem, _ facts: inout IncidentFacts) -> PostMortem.Finding {
        guard var crash = facts.crash else { return .nothing }
        defer { facts.crash = crash }
        return postMortem.examine(&crash)
    }

    /// Writes the report of a crash, unless the app has reached its limit.
    func makeCrashReport(
        _ app: Int, _ facts: IncidentFacts, _ host: HostFacts, _ finding: PostMortem.Finding, _ log: LogSource?
    ) -> ReportOutcome {
        var facts = facts
        // The exit status is unknown, and there is no trace of a crash.
        guard facts.crash?.isKnown == true else {
            return ReportOutcome(verdict: Verdict(of: facts), isVoid: true)
        }
        guard !hasReachedLimit(facts) else {
            return ReportOutcome(
                verdict: Verdict(of: facts), failure: "\(CrashLimit.count) crashes of the last hour have one already")
        }
        switch finding {
        case .core(let snapshot):
            let captured = symbolicator.symbolicate(snapshot)
            let unnamed = UnnamedStacks(main: captured.shortage == nil ? nil : snapshot)
            return write(app, .crash, &facts, host, captured, snapshot, unnamed, log)
        case .named(let capture): return write(app, .crash, &facts, host, capture, nil, UnnamedStacks(), log)
        case .nothing: return write(app, .crash, &facts, host, nil, nil, UnnamedStacks(), log)
        }
    }

    private func hasReachedLimit(_ facts: IncidentFacts) -> Bool {
        let (app, time) = (facts.appName, facts.captureTime.seconds)
        if crashLimit.withLock({ $0.isReached(by: app, at: time) }) { return true }
        let reports = ((try? store.list()) ?? []).prefix { $0.time.seconds > time - CrashLimit.period }
        let times = reports.filter { report in
            report.metadata?.linux?.event == ReportKind.crash.rawValue && report.metadata?.appName == app
        }
        return crashLimit.withLock { $0.isReached(by: app, at: time, reports: times.map(\.time.seconds)) }
    }
}
