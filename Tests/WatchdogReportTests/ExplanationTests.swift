// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogPolicy

@testable import WatchdogReport

@Suite("Explanations")
struct ExplanationTests {
    private func report(_ evidence: HangEvidence) -> Report { Samples.report(Samples.facts(evidence: evidence)) }

    private func evidence(running: Int = 0, waiting: Int = 0, state: Character = "S", call: Int? = nil) -> HangEvidence
    {
        HangEvidence(
            window: .seconds(10), runTime: .milliseconds(running * 100), runDelay: .milliseconds(waiting * 100),
            state: state, syscall: call.map { "\($0) 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1" }, tracer: 0, isFrozen: false,
            processorCount: 2)
    }

    @Test("Nobody is blamed but by evidence")
    func blame() {
        #expect(Blame(for: report(evidence())).party == .app)
        #expect(Blame(for: report(evidence(running: 98, state: "R"))).party == .app)
        #expect(Blame(for: report(evidence(running: 30, waiting: 70, state: "R"))).party == .machine)
        #expect(Blame(for: report(evidence(running: 55, waiting: 45, state: "R"))).party == .app)
        #expect(Blame(for: report(evidence(state: "D"))).party == .machine)
        #expect(Blame(for: report(evidence(state: "T"))).party == .somebodyElse)
        #expect(Blame(for: report(evidence(state: "t"))).party == .somebodyElse)
        var frozen = evidence()
        frozen.isFrozen = true
        #expect(Blame(for: report(frozen)).party == .somebodyElse)
        #expect(Blame(for: report(HangEvidence(processorCount: 2))).party == .unknown)
    }

    @Test("A capture that somebody asked for has no event, no allowance and nobody to blame")
    func capture() {
        var facts = Samples.facts(.sceneUpdate, .requested, allowance: .zero, evidence: evidence(call: 232))
        facts.kind = .capture
        facts.enforcement = .report
        facts.kill = .none
        facts.exitStatus = nil
        let report = Samples.report(facts)
        let text = Explanation(of: report).text
        #expect(text.hasPrefix("HangMain[4242] · capture · "))
        #expect(!text.contains("Fault") && !text.contains("Allowance") && !text.contains("scene-update"))
        #expect(text.contains("Somebody asked for the stacks"))
        let page = HTMLRenderer.render(report)
        #expect(!page.contains("Fault") && !page.contains("Allowance"))
        #expect(Signature(of: report).event == "capture")
    }

    @Test("An app whose own workers take the CPUs is starved by itself")
    func ownStarvation() {
        var facts = Samples.facts(evidence: evidence(running: 20, waiting: 80, state: "R"))
        facts.cpu?.application = .seconds(7)
        #expect(Blame(for: Samples.report(facts)).party == .app)
        facts.cpu?.application = .seconds(2)
        #expect(Blame(for: Samples.report(facts)).party == .machine)
    }

    @Test(
        "The advice fits the call",
        arguments: [(202, "lock"), (45, "peer"), (7, "descriptors"), (73, "LOCK_NB"), (61, "child")])
    func advice(call: Int, word: String) {
        var capture = Samples.capture
        capture.threads[0].syscall = "\(call) 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1"
        let report = Samples.report(Samples.facts(evidence: evidence(call: call)), capture: capture)
        #expect(Explanation(of: report).advice.contains(word))
    }

    private func explanation(_ missed: MissedDetails, call: Int) -> Explanation {
        var capture = Samples.capture
        capture.threads[0].syscall = "\(call) 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1"
        var facts = Samples.facts(.processLaunch, evidence: evidence(call: call))
        facts.missed = missed
        return Explanation(of: Samples.report(facts, capture: capture))
    }

    private static let refused = MissedDetails(
        .probe, of: "tcp:localhost:7999", failure: "connection refused", count: 3)

    @Test("What was probed or waited for comes first")
    func missed() {
        let probed = explanation(Self.refused, call: 230).text
        #expect(probed.contains("\nFailed     probe tcp:localhost:7999: connection refused (3 in a row)\nAllowance  "))
        let awaited = explanation(MissedDetails(.readiness, of: "listen:4567"), call: 230).text
        #expect(awaited.contains("\nWaited for listen:4567\nAllowance  "))
        let silent = MissedDetails(.probe, of: "http://a:secret@h/", count: 1)
        #expect(silent.words == "probe http://<redacted>@h/: no answer")
    }

    @Test(
        "An idle main thread is not the cause of a refusal, nor of a readiness that never comes",
        arguments: [
            (refused, "Probe= means that address"),
            (MissedDetails(.readiness, of: "listen:4567"), "Readiness= means that address"),
            (MissedDetails(.readiness, of: "exec:test -e /run/x"), "Run the command of Readiness= by hand"),
            (MissedDetails(.readiness, of: "READY=1"), "whether the program sends READY=1"),
        ])
    func idle(missed: MissedDetails, advice: String) {
        let idle = explanation(missed, call: 230)
        #expect(idle.advice.contains(advice))
        #expect(!idle.advice.contains("first screen"))
        #expect(idle.blame?.party == .unknown)
        let busy = explanation(missed, call: 61)
        #expect(busy.advice.contains("child"))
        #expect(busy.blame?.party == .app)
    }

    @Test("A main thread that sleeps while a probe gets no answer is to blame")
    func asleep() {
        let asleep = explanation(MissedDetails(.probe, of: "tcp:localhost:6379", count: 3), call: 230)
        #expect(asleep.advice.contains("sleeps on purpose"))
        #expect(asleep.blame?.party == .app)
    }

    @Test("At most 25 lines of 79 columns, whatever the app says, and nothing that steers a terminal")
    func size() {
        let long = String(repeating: "\u{1b}[2J veryLongWord", count: 300)
        for (_, report) in Samples.goldens {
            var report = report
            report.metadata.appName = long
            report.body.captureTime = long
            report.body.linux?.verdict.line = long
            report.body.linux?.notes = Array(repeating: long, count: 40)
            report.body.threads[0].name = long
            for index in report.body.threads[0].frames.indices { report.body.threads[0].frames[index].symbol = long }
            let lines = Explanation(of: report).text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 26)
            #expect(lines.allSatisfy { $0.count < 80 })
            #expect(lines.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 })
            let difference = ReportComparison(report, Samples.report()).text.split(separator: "\n")
            #expect(difference.allSatisfy { $0.count < 80 })
        }
    }

    @Test("A thread that the verdict names is told before others")
    func named() {
        var report = Samples.report()
        report.body.linux?.verdict.line = "Main thread blocked 10 s in futex (held by thread 4243)"
        let others = Explanation(of: report).others
        #expect(others.map(\.index) == [1])
        #expect(others.map { $0.isNamed } == [true])
    }

    @Test("A report compared with itself has the same signature, no change and one common stack")
    func same() {
        let comparison = ReportComparison(Samples.report(), Samples.report())
        #expect(comparison.isSameSignature)
        #expect(comparison.facts + comparison.verdict + comparison.images == [])
        #expect(comparison.stack.map(\.side) == [.both])
        #expect(comparison.onlyBefore + comparison.onlyAfter == [])
    }

    @Test("As JSON, explanation, comparison and MetricKit's payload are JSON of integers")
    func json() {
        for (_, report) in Samples.goldens {
            let texts = [
                Explanation(of: report).json, ReportComparison(report, Samples.report()).json,
                MetricKitPayload(report).json,
            ]
            #expect(texts.map { JSONFault.first(in: Array($0.utf8)) } == [nil, nil, nil])
        }
    }
}
