// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Reports about a worker that should have answered a probe")
struct WorkerTests {
    private static let read = "0 0x5 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
    private static let epoll = "232 0x4 0x7ffd 0x1 0xffffffff 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"

    private func report(
        _ state: Character, syscall: String? = nil, subject: String = "fd 5: pipe", running: Duration = .zero,
        names: [String], hasAccepted: Bool = true
    ) -> Report {
        var facts = Samples.facts(
            evidence: HangEvidence(
                window: .seconds(9), runTime: running, runDelay: .zero, state: state, syscall: syscall, tracer: 0,
                isFrozen: false, processorCount: 2))
        let pid = facts.pid
        facts.evidence.waits =
            syscall.map {
                [WaitDetails(process: pid, thread: pid, name: "python3", syscall: $0, subject: subject, sources: [])]
            } ?? []
        facts.missed = MissedDetails(.probe, of: "http://localhost/", count: 3)
        facts.server = ServerDetails(name: "python3", hasAccepted: hasAccepted, mainProcess: pid - 1)
        var capture = Samples.capture
        let frames = names.enumerated().map { index, name in
            Frame(
                address: 1, imageIndex: index == 0 && names.count > 1 ? 1 : 0, imageOffset: 1, symbol: name,
                symbolLocation: 0, trust: .cfi)
        }
        capture.threads = [
            CapturedThread(
                id: pid, name: "python3", state: String(state), syscall: syscall,
                runNanoseconds: UInt64(running.nanoseconds), frames: frames)
        ]
        return Samples.report(facts, capture: capture)
    }

    private func check(
        _ report: Report, _ party: Blame.Party, headline: String, cause: String, line: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let explanation = Explanation(of: report)
        let worker = "orker \(report.body.pid) of \(report.metadata.appName)"
        #expect(explanation.headline == "W\(worker) \(headline)", sourceLocation: sourceLocation)
        let cause = "the probe waits for \(cause)".replacing("PID", with: "\(report.body.pid)")
        #expect(explanation.cause == cause, sourceLocation: sourceLocation)
        #expect(explanation.blame?.party == party, sourceLocation: sourceLocation)
        #expect(explanation.blame?.reason.hasPrefix("w\(worker): ") == true, sourceLocation: sourceLocation)
        let verdict = try #require(report.body.linux?.verdict.line)
        #expect(verdict.hasPrefix("Worker \(report.body.pid) \(line)"), "\(verdict)", sourceLocation: sourceLocation)
        #expect(!explanation.line.contains("· Worker"), "\(explanation.line)", sourceLocation: sourceLocation)
        #expect(try ReportCoding.decode(ReportCoding.encode(report)) == report, sourceLocation: sourceLocation)
    }

    @Test("A worker that reads a pipe is named with its read")
    func reads() throws {
        try check(
            report("S", syscall: Self.read, names: ["read", "read_feed"]), .app,
            headline: "waits for data from a pipe",
            cause: "a reply of python3 (pid PID), which is blocked in read (fd 5: pipe), from read_feed",
            line: "blocked 9.00 s in read (fd 5: pipe)")
    }

    @Test("A worker that is stopped before it accepts is named as stopped")
    func stopped() throws {
        try check(
            report("T", names: ["read_feed"], hasAccepted: false), .somebodyElse, headline: "is stopped by a signal",
            cause: "python3 (pid PID) to accept a connection, which is stopped", line: "stopped by a signal (state T)")
    }

    @Test("A worker that computes is named with its function")
    func spins() throws {
        try check(
            report("R", running: .seconds(9), names: ["compute_primes"]), .app,
            headline: "computes in compute_primes and does not return to its loop",
            cause: "a reply of python3 (pid PID), which computes, from compute_primes", line: "spinning: ran 9.00 s")
    }

    @Test("A thread of the main process is named as a thread")
    func thread() throws {
        var facts = Samples.facts(
            evidence: HangEvidence(
                window: .seconds(9), runTime: .zero, runDelay: .zero, state: "S", syscall: Self.read, tracer: 0,
                isFrozen: false, processorCount: 2))
        let pid = facts.pid
        facts.mainThread = pid + 1
        facts.evidence.waits = [
            WaitDetails(
                process: pid, thread: pid + 1, name: "handler", syscall: Self.read, subject: "fd 5: pipe", sources: [])
        ]
        facts.missed = MissedDetails(.probe, of: "http://localhost/", count: 3)
        facts.server = ServerDetails(name: "python3", hasAccepted: true, mainProcess: pid)
        var capture = Samples.capture
        let frame = Frame(
            address: 1, imageIndex: 0, imageOffset: 1, symbol: "read_feed", symbolLocation: 0, trust: .cfi)
        capture.threads = [
            CapturedThread(id: pid, name: "python3", state: "S", syscall: Self.epoll, frames: []),
            CapturedThread(id: pid + 1, name: "handler", state: "S", syscall: Self.read, frames: [frame]),
        ]
        let report = Samples.report(facts, capture: capture)
        let explanation = Explanation(of: report)
        let app = report.metadata.appName
        #expect(explanation.headline == "Thread 1 (handler) of \(app) waits for data from a pipe")
        #expect(explanation.blame?.reason.hasPrefix("thread 1 (handler) of \(app): ") == true)
        #expect(report.body.linux?.verdict.line.hasPrefix("Thread \(pid + 1) blocked 9.00 s in read") == true)
        let cause = explanation.cause ?? ""
        #expect(cause.contains("which is blocked in read (fd 5: pipe)"), "\(cause)")
    }

    @Test("A worker that has the request and waits in its loop is idle")
    func idle() throws {
        let report = report(
            "S", syscall: Self.epoll, subject: "fd 4: epoll of 2 fds", names: ["epoll_wait", "uv_run"])
        let explanation = Explanation(of: report)
        #expect(
            explanation.headline
                == "Worker \(report.body.pid) of \(report.metadata.appName) is idle in its event loop: what should have "
                + "answered waits elsewhere, such as in a suspended task, in a worker, or for a callback")
        #expect(explanation.blame?.party == .unknown)
        #expect(explanation.advice.hasPrefix("The worker has the request and waits in its loop"))
    }
}
