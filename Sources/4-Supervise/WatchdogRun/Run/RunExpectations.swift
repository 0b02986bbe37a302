// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogPolicy
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

/// The expectations of a run, and their results.
struct RunExpectations {
    /// An expectation and its result.
    struct Result: Equatable {
        let expectation: Expectation
        let judgement: Expectation.Judgement
    }

    private let expectations: [Expectation]

    init(_ expectations: [Expectation]) { self.expectations = expectations }

    /// Whether all expectations are decided, because they are about the launch only and its moments have come.
    func areDecided(by moments: [Expectation.Moment: Duration]) -> Bool {
        !expectations.isEmpty
            && expectations.allSatisfy { $0.launchMoment.map { moments[$0.moment] != nil } ?? false }
    }

    /// The time after the launch at which all expectations are decided; nil without a limit.
    var limit: Duration? {
        let limits = expectations.map { $0.launchMoment?.limit }
        return limits.contains(nil) ? nil : limits.compactMap(\.self).max()
    }

    /// Whether the last report has to be read to judge the run.
    var needReport: Bool { expectations.contains(where: \.isAboutReport) }

    func results(of run: RunFacts) -> [Result] {
        expectations.map { Result(expectation: $0, judgement: $0.judgement(of: run)) }
    }

    /// The moments that the launch has reached.
    static func moments(
        launchedAt: Instant?, ready: Duration?, trace: LaunchTrace
    ) -> [Expectation.Moment: Duration] {
        guard let launchedAt else { return [:] }
        var moments: [Expectation.Moment: Duration] = [:]
        moments[.ready] = ready
        moments[.firstFrame] = trace.firstFrame.map { $0 - launchedAt }
        moments[.useful] = trace.useful.map { $0 - launchedAt }
        return moments
    }
}

/// The parts of the last incident's report that results need.
struct ReportedStack {
    /// The maximum length of the text; CI services show no more than this.
    private static let longest = 64 << 10

    private let report: Report
    private let path: String?

    /// Reads a report; nil if it cannot be read.
    init?(_ outcome: ReportOutcome?, in store: ReportStore) {
        if let printed = outcome?.printed {
            (report, path) = (printed, nil)
            return
        }
        guard let path = outcome?.path, let stored = try? store.find(path), let report = try? store.read(stored) else {
            return nil
        }
        (self.report, self.path) = (report, path)
    }

    /// Who does not move and why, in one line.
    var verdict: String { Explanation(of: report).line }

    /// What a failed test shows: who is stuck, on what, whose fault it is, and where the crash log is.
    var brief: String {
        Explanation(of: report).text + (path.map { "Crash log  \($0.singleLine(limit: 4_096))\n" } ?? "")
    }

    /// The functions of the thread that the report is about, innermost first.
    var frames: [String] {
        let (threads, index) = (report.body.threads, report.body.faultingThread)
        return threads.indices.contains(index) ? threads[index].frames.compactMap(\.symbol) : []
    }

    /// The wait of that thread, and the holder; nil if it does not wait.
    var wait: String? {
        let (waits, thread) = (report.body.linux?.waits ?? [], report.faultingStack?.id)
        return (waits.first { $0.thread == thread } ?? waits.first).map { wait in
            (wait.subject ?? wait.syscall) + (wait.holder.map { ", held by \($0.name)" } ?? "")
        }
    }

    /// The report as text, without its binary images: the list is long, and the file has it.
    var text: String {
        let whole = TextRenderer.render(report)
        let end = whole.firstRange(of: "\nBinary Images:")?.lowerBound ?? whole.endIndex
        return String(whole[..<end].prefix(Self.longest))
    }
}

extension TestSuite {
    /// The results of a run: one test for each expectation and each step of its script.
    ///
    /// A run without expectations and script is one test, which passes if the exit code is 0.
    init(
        run name: String, results: [RunExpectations.Result], script: ScriptRecord?, exit: Int32, end: String,
        duration: Duration, report: ReportedStack?
    ) {
        let details = report?.brief ?? ""
        var cases = results.map { result in
            Case(
                result.expectation.description,
                result.judgement.isMet
                    ? .passed
                    : .failed("expected \(result.expectation), but \(result.judgement.actual)", details: details))
        }
        cases += script?.cases(details: details) ?? []
        if cases.isEmpty {
            let reason = [end, report?.verdict].compactMap(\.self).joined(separator: ": ")
            cases = [Case("exit code 0", exit == 0 ? .passed : .failed(reason, details: details))]
        }
        let hasFailed = cases.contains { if case .failed = $0.outcome { true } else { false } }
        self.init(
            name: "watchdogd run \(name)", cases: cases, duration: duration,
            output: hasFailed ? report?.text ?? "" : "")
    }
}
