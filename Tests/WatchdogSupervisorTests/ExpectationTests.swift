// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogRendering
import WatchdogReportStore
import WatchdogVerdict

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogPolicy
@testable import WatchdogRun

// Testing also has a type of this name.
private typealias Expectation = WatchdogRun.Expectation

@Suite("The expectations of a run")
struct ExpectationTests {
    @Test(
        "a condition survives parsing and printing",
        arguments: [
            "ready", "ready within 400ms", "first-frame within 1.5s", "useful within 2s", "no hang",
            "no hang over 250ms", "no incident", "0x8badf00d", "0x8badf00d:scene-update", "killed 0x8badf00d",
            "killed 0x2182bad2:background-task", "exit:0", "exit:255", "frame loadFeed()", "verdict blocked in futex",
            "blocked on tcp:10.0.0.1:443", "blocked on mutex",
        ])
    func roundTrip(text: String) throws {
        #expect(try Expectation(parsing: text).description == text)
    }

    @Test("quotation marks and extra spaces do not matter")
    func spelling() throws {
        #expect(try Expectation(parsing: #"frame "load Feed""#) == .frame("load Feed"))
        #expect(try Expectation(parsing: "  no   hang ") == .noHang(over: nil))
        #expect(try Expectation(parsing: "useful within 1s 500ms") == .reached(.useful, within: .milliseconds(1_500)))
        #expect(try Expectation(parsing: "READY") == .reached(.ready, within: nil))
        #expect(try Expectation(parsing: "0x8BADF00D") == .reported(.ateBadFood, nil))
    }

    @Test(
        "an invalid condition is rejected with a hint",
        arguments: [
            ("miracle", "use ready, exit:N"), ("", "use ready"), ("ready soon", "ready within 400ms"),
            ("ready within", "ready within 400ms"), ("ready within soon", "20s"), ("useful", "useful within 400ms"),
            ("first-frame", "first-frame within 400ms"), ("no hang over 5", "5s"), ("no luck", "use ready"),
            ("frame", "frame NAME"), ("verdict", "verdict TEXT"), ("killed", "killed 0x8badf00d"),
            ("blocked on", "blocked on TEXT"),
            ("killed 0x1", "unknown code"), ("0x8badf00d:tea", "unknown event"), ("exit:256", "exit:0 to exit:255"),
            ("exit:-1", "exit:0 to exit:255"), ("exit:1 2", "use ready"),
        ])
    func refused(text: String, words: String) {
        let error = #expect(throws: Expectation.SyntaxError.self) { try Expectation(parsing: text) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    // MARK: Judging

    private func run(_ change: (inout RunFacts) -> Void = { _ in }) -> RunFacts {
        var facts = RunFacts(
            outcome: Outcome(cause: .exited, status: .exited(code: 0), isDeathVerified: true), end: "app exited",
            incidents: [], moments: [.ready: .milliseconds(400)], hangs: (0, .zero),
            answers: AnswerTimes(longest: .milliseconds(250)),
            verdict: nil, frames: nil)
        change(&facts)
        return facts
    }

    private func incident(_ event: WatchdogEvent, isEnforced: Bool = true) -> Incident {
        let now = Instant(nanoseconds: 0)
        return Incident(
            id: 1, event: event, cause: .exhausted, allowance: .zero, startedAt: now, windowStart: now, deadline: now,
            decidedAt: now, credit: .zero, extended: .zero, paused: .zero, rebases: 0, evidence: nil,
            visibility: .foreground, isSuspended: false, isEnforced: isEnforced)
    }

    private func isMet(_ text: String, _ facts: RunFacts) throws -> Bool {
        try Expectation(parsing: text).judgement(of: facts).isMet
    }

    @Test("a moment of the launch is in time, or a nanosecond late")
    func moments() throws {
        #expect(try isMet("ready", run()))
        #expect(try isMet("ready within 400ms", run()))
        #expect(try !isMet("ready within 400ms", run { $0.moments[.ready] = .milliseconds(400) + .nanoseconds(1) }))
        #expect(try !isMet("ready", run { $0.moments = [:] }))
        #expect(try !isMet("useful within 1s", run()))
        #expect(try isMet("useful within 1s", run { $0.moments[.useful] = .seconds(1) }))
        let late = try Expectation(parsing: "ready within 300ms").judgement(of: run())
        #expect(late == .init(isMet: false, actual: "ready came after 400 ms"))
    }

    @Test("the longest response is in time, or a nanosecond late; without pings it is unknown")
    func hangs() throws {
        #expect(try isMet("no hang over 250ms", run()))
        #expect(try !isMet("no hang over 250ms", run { $0.answers.longest = .milliseconds(250) + .nanoseconds(1) }))
        #expect(try !isMet("no hang over 250ms", run { $0.answers.longest = nil }))
        #expect(try isMet("no hang", run()))
        #expect(try !isMet("no hang", run { $0.hangs = (1, .milliseconds(300)) }))
        #expect(try !isMet("no hang", run { $0.incidents = [incident(.sceneUpdate)] }))
        #expect(try !isMet("no hang over 1min", run { $0.incidents = [incident(.sceneUpdate)] }))
        #expect(try isMet("no hang", run { $0.incidents = [incident(.processExit)] }))
        // Silent until the end: no response arrived that could have counted as late.
        #expect(try !isMet("no hang", run { $0.answers.silence = .milliseconds(250) }))
        #expect(try !isMet("no hang over 2s", run { $0.answers.silence = .seconds(2) + .nanoseconds(1) }))
        #expect(try isMet("no hang over 2s", run { $0.answers.silence = .seconds(2) }))
    }

    @Test("a report is not a kill, but a kill is a report; code and event must match")
    func incidents() throws {
        let reported = run { $0.incidents = [incident(.sceneUpdate, isEnforced: false)] }
        let killed = run { $0.incidents = [incident(.sceneUpdate)] }
        #expect(try isMet("0x8badf00d", reported) && isMet("0x8badf00d:scene-update", killed))
        #expect(try !isMet("killed 0x8badf00d", reported) && isMet("killed 0x8badf00d:scene-update", killed))
        #expect(try !isMet("0x8badf00d:process-exit", killed) && !isMet("0x2182bad2", killed))
        #expect(try isMet("no incident", run()) && !isMet("no incident", reported))
        #expect(try isMet("exit:0", run()) && !isMet("exit:0", reported) && !isMet("exit:1", run()))
    }

    @Test("function and verdict are searched in the last report, and never match without one")
    func reports() throws {
        let facts = run {
            $0.verdict = "Blocked in recvfrom on TCP 10.0.0.1:443"
            $0.frames = ["recv", "Feed.load()", "main"]
        }
        #expect(try isMet("frame Feed.load", facts) && !isMet("frame save", facts) && !isMet("frame load", run()))
        #expect(try isMet("verdict blocked in RECVFROM", facts) && !isMet("verdict futex", facts))
        #expect(try !isMet("verdict blocked", run()))
        let judgement = try Expectation(parsing: "frame save").judgement(of: facts)
        #expect(judgement.actual == "the stack is recv < Feed.load() < main")
    }

    @Test("a wait matches by its kind and address, its text, or its holder")
    func waits() throws {
        let facts = run {
            $0.verdict = "Main thread blocked 4.9 s in recvfrom"
            $0.frames = ["recv"]
            $0.wait = "fd 5: TCP 127.0.0.1:5000 → 10.0.0.1:443, ESTABLISHED"
        }
        for text in ["tcp:10.0.0.1:443", "TCP:", "10.0.0.1", "established"] {
            #expect(try isMet("blocked on \(text)", facts), "\(text)")
        }
        for text in ["tcp:10.0.0.2:443", "udp:10.0.0.1:443", "unix:", "mutex"] {
            #expect(try !isMet("blocked on \(text)", facts), "\(text)")
        }
        #expect(try !isMet("blocked on tcp:", run()))
        #expect(try isMet("blocked on indexer", run { $0.wait = "mutex, held by indexer" }))
        let judgement = try Expectation(parsing: "blocked on udp:").judgement(of: facts)
        #expect(judgement.actual == "it waited for fd 5: TCP 127.0.0.1:5000 → 10.0.0.1:443, ESTABLISHED")
        let busy = run { $0.verdict = "Main thread busy" }
        #expect(
            try Expectation(parsing: "blocked on udp:").judgement(of: busy).actual == "the verdict is: Main thread busy"
        )
    }

    // MARK: The end of a run

    @Test("a run ends at its launch only if nothing else is expected of it")
    func decided() throws {
        func expectations(_ texts: String...) throws -> RunExpectations {
            RunExpectations(try texts.map { try Expectation(parsing: $0) })
        }
        let ready: [Expectation.Moment: Duration] = [.ready: .milliseconds(1)]
        #expect(try expectations("ready").areDecided(by: ready) && !expectations("ready").areDecided(by: [:]))
        #expect(try !expectations("ready", "useful within 2s").areDecided(by: ready))
        #expect(try !expectations("ready", "no hang").areDecided(by: ready) && !expectations().areDecided(by: ready))
        #expect(try expectations("ready within 1s", "useful within 2s").limit == .seconds(2))
        #expect(try expectations("ready", "useful within 2s").limit == nil && expectations("no hang").limit == nil)
        #expect(try expectations("ready within 1s", "exit:0").limit == nil && expectations().limit == nil)
    }

    @Test("a run without expectations is one test, of its exit code")
    func plain() {
        func suite(_ exit: Int32) -> TestSuite {
            TestSuite(
                run: "app", results: [], script: nil, exit: exit, end: "app exited", duration: .zero, report: nil)
        }
        #expect(suite(0).cases == [.init("exit code 0", .passed)])
        #expect(suite(7).cases == [.init("exit code 0", .failed("app exited", details: ""))])
    }

    @Test("a failed test names the culprit and shows the short explanation; the crash log is beside it")
    func culprit() throws {
        var outcome = ReportOutcome(verdict: Verdict(kind: .unknown, line: "", brief: ""))
        outcome.printed = Samples.report()
        // A printed report is in no store.
        let report = try #require(ReportedStack(outcome, in: ReportStore(directory: "/nonexistent")))
        func suite(_ exit: Int32) -> TestSuite {
            TestSuite(
                run: "app", results: [], script: nil, exit: exit, end: "app was killed: did not answer within 1 s",
                duration: .zero, report: report)
        }
        guard case .failed(let reason, let details) = suite(137).cases[0].outcome else {
            Issue.record("has not failed")
            return
        }
        #expect(reason.hasPrefix("app was killed: did not answer within 1 s: Main thread waits for data from "))
        #expect(details == Explanation(of: Samples.report()).text)
        #expect(suite(137).output.contains("Thread 0") && suite(0).output.isEmpty)
    }
}
