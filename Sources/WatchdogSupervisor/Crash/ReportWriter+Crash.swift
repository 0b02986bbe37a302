// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension ReportWriter {
    /// An app that crashes again and again must not push the reports of others out of the store.
    private static let crashLimit = (count: 5, seconds: Int64(3_600))

    /// Looks for what is left of the process.
    func find(_ postMortem: PostMortem, _ facts: inout IncidentFacts) -> PostMortem.Finding {
        guard var crash = facts.crash else { return .nothing }
        defer { facts.crash = crash }
        return postMortem.examine(&crash)
    }

    /// Writes the report of a crash, unless the app has had enough of them.
    func makeCrashReport(
        _ facts: IncidentFacts, _ host: HostFacts, _ finding: PostMortem.Finding, _ log: LogSource?
    ) -> ReportOutcome {
        var facts = facts
        // How it ended is not known, and nothing that a crash leaves was found.
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

    /// How many crashes of the app have a report already.
    private func recentCrashes(of facts: IncidentFacts) -> Int {
        let since = facts.captureTime.seconds - Self.crashLimit.seconds
        let reports = ((try? store.list()) ?? []).prefix { $0.time.seconds >= since }
        return reports.count { report in
            report.metadata?.linux?.event == ReportKind.crash.rawValue && report.metadata?.appName == facts.appName
        }
    }
}
