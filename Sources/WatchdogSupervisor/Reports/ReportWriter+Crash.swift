// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

extension ReportWriter {
    /// An app that keeps crashing must not push the reports of others out of the store.
    private static let crashLimit = (count: 5, seconds: Int64(3_600))

    /// Searches for what the process left.
    func find(_ postMortem: PostMortem, _ facts: inout IncidentFacts) -> PostMortem.Finding {
        guard var crash = facts.crash else { return .nothing }
        defer { facts.crash = crash }
        return postMortem.examine(&crash)
    }

    /// Writes the report of a crash, unless the app has reached its limit.
    func makeCrashReport(
        _ facts: IncidentFacts, _ host: HostFacts, _ finding: PostMortem.Finding, _ log: LogSource?
    ) -> ReportOutcome {
        var facts = facts
        // The exit status is unknown, and there is no trace of a crash.
        guard facts.crash?.isKnown == true else {
            return ReportOutcome(verdict: Verdict(of: facts), isVoid: true)
        }
        guard recentCrashes(of: facts) < Self.crashLimit.count else {
            return ReportOutcome(
                verdict: Verdict(of: facts),
                failure: "\(Self.crashLimit.count) crashes of the last hour have one already")
        }
        let captured: CapturedProcess? =
            switch finding {
            case .core(let snapshot): symbolicator.symbolicate(snapshot)
            case .named(let capture): capture
            case .nothing: nil
            }
        return write(&facts, host, captured, log)
    }

    /// The number of recent crash reports of the app.
    private func recentCrashes(of facts: IncidentFacts) -> Int {
        let since = facts.captureTime.seconds - Self.crashLimit.seconds
        let reports = ((try? store.list()) ?? []).prefix { $0.time.seconds >= since }
        return reports.count { report in
            report.metadata?.linux?.event == ReportKind.crash.rawValue && report.metadata?.appName == facts.appName
        }
    }
}
