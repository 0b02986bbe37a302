// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Causes")
struct CauseTests {
    @Test("Each cause is judged correctly", arguments: Causes.hangs)
    func kind(kind: Verdict.Kind) {
        #expect(Verdict(judging: Causes.evidence(kind)).kind == kind)
    }

    @Test("Half of the observed time without quota is throttled; less is not")
    func throttled() {
        var evidence = Causes.evidence(.throttled)
        evidence.strain?.throttled = .milliseconds(2_500)
        #expect(Verdict(judging: evidence).kind == .throttled)
        evidence.strain?.throttled = .milliseconds(2_500) - .nanoseconds(1)
        #expect(Verdict(judging: evidence).kind == .starved)
    }

    @Test("A sleeping main thread is not throttled, whatever its cgroup does")
    func throttledByOthers() {
        var evidence = Causes.evidence(.blocked)
        evidence.strain = Causes.evidence(.throttled).strain
        #expect(Verdict(judging: evidence).kind == .blocked)
    }

    @Test(
        "Half of the observed time in memory stalls is memory-stalled; less, or without page waits, is not"
    )
    func memory() {
        var evidence = Causes.evidence(.memoryStalled)
        evidence.strain?.memoryStalled = .milliseconds(2_500)
        #expect(Verdict(judging: evidence).kind == .memoryStalled)
        evidence.strain?.memoryStalled = .milliseconds(2_500) - .nanoseconds(1)
        #expect(Verdict(judging: evidence).kind == .uninterruptible)
        evidence = Causes.evidence(.blocked)
        evidence.strain = Causes.evidence(.memoryStalled).strain
        evidence.strain?.majorFaults = 15
        #expect(Verdict(judging: evidence).kind == .blocked)
        evidence.strain?.majorFaults = 16
        #expect(Verdict(judging: evidence).kind == .memoryStalled)
    }

    @Test("The consumers of the CPUs are named with the starved verdict, with their source")
    func consumers() {
        let report = Causes.all.first { $0.name == "starved" }?.report
        #expect(
            report?.body.linux?.verdict.line.contains("which pid 900 \"make\" (4.80 s) and pid 901 \"cc1plus\"") == true
        )
        #expect(report?.body.linux?.evidence.contains { $0.source == "clock_gettime(2) of each process" } == true)
    }

    @Test("Every cause has its own advice, and a party at fault or an honest unknown")
    func advice() {
        var paragraphs: Set<String> = []
        for (name, report) in Causes.all where Causes.hangs.map(Causes.name).contains(name) {
            paragraphs.insert(Explanation(of: report).advice)
        }
        #expect(paragraphs.count == Causes.hangs.count)
    }

    @Test("Every finding has advice, or the system call's is as good", arguments: Finding.Kind.allCases)
    func findingAdvice(kind: Finding.Kind) {
        if let sentence = FindingAdvice.sentence(for: kind) { #expect(sentence.hasSuffix(".")) }
    }

    // MARK: - Goldens

    /// `WATCHDOGD_UPDATE_GOLDENS=1 swift test --filter CauseTests` rewrites them.
    @Test("One golden report for each cause, as file, text and page", arguments: Causes.all.map(\.name))
    func golden(name: String) throws {
        let report = try #require(Causes.all.first { $0.name == name }?.report)
        try compare(try ReportCoding.encode(report), with: "causes/\(name).ips")
        try compare(Array(TextRenderer.render(report).utf8), with: "causes/\(name).crash")
        try compare(Array(HTMLRenderer.render(report).utf8), with: "causes/\(name).html")
        let decoded = try ReportCoding.decode(try ReportCoding.encode(report))
        #expect(decoded == report)
    }

    private func compare(_ bytes: [UInt8], with name: String) throws {
        let path = TestFiles.folder(of: #filePath) + "/Goldens/" + name
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            mkdir(TestFiles.folder(of: #filePath) + "/Goldens/causes", 0o755)
            try TestFiles.write(bytes, to: path)
        }
        let golden = try #require(TestFiles.read(path), "\(path) is missing; set WATCHDOGD_UPDATE_GOLDENS=1")
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: golden, as: UTF8.self), "\(name)")
    }
}
