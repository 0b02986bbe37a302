// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// Rules that make the tests of the gate independent of the machine's speed and of other processes.
@Suite("Tests that every change must pass")
struct GateRuleTests {
    @Test("Each line of gate.txt and flaky.txt names an existing test, once")
    func listedTestsExist() {
        let listed = GateList.end2end + GateList.onlyInFull + FlakyTest.all.map(\.id)
        #expect(!GateList.end2end.isEmpty)
        #expect(listed.filter { TestSource($0) == nil } == [], "no such test: after a rename, correct the list")
        #expect(listed.count == Set(listed).count)
        #expect(GateList.end2end.filter { !$0.hasPrefix("IntegrationTests.") } == [])
        #expect(GateList.onlyInFull.filter { $0.hasPrefix("IntegrationTests.") } == [])
    }

    @Test("A flaky test is listed with date and reason; at most five are, for at most thirty days")
    func flakyTests() {
        #expect(FlakyTest.all.count <= 5)
        for test in FlakyTest.all {
            #expect(!test.reason.isEmpty, "\(test.id): say what was seen")
            guard let since = test.since else {
                Issue.record("\(test.id): the second word must be a date such as 2026-11-27")
                continue
            }
            let days = Date.now.timeIntervalSince(since) / 86_400
            #expect(days <= 30, "\(test.id) has flaked since \(test.day): mend it, or remove it")
        }
    }

    @Test(
        "End-to-end tests of the gate depend on no speed, no neighbor, and no rare program",
        arguments: GateList.end2end)
    func endToEnd(id: String) throws {
        let test = try #require(TestSource(id))
        #expect(test.places(matching: TimeDependence.expressions + TimeDependence.onlyEndToEnd) == [])
        // If the test expects the kill, a short allowance can only end too early for a program that has not got far.
        let expectsKill = #/137|scene-|process-|0x8badf00d|killed|did not answer/#
        if !test.lines.contains(where: { $0.text.contains(expectsKill) }) {
            #expect(test.places(matching: [TimeDependence.shortAllowance]) == [])
        }
    }

    @Test("Unit tests of real processes do not depend on speed, or gate.txt leaves them to the full suite")
    func unitTests() {
        let skipped = GateList.onlyInFull.compactMap(TestSource.init)
        let expressions = TimeDependence.expressions
        var places: [String] = []
        for file in SourceTree.unitTests where file.mentions(".reapsChildren") {
            let lines = file.lines.enumerated().map { (number: $0 + 1, text: $1) }
            let left = skipped.filter { $0.path == file.path }.flatMap(\.numbers)
            places += lines.filter { !left.contains($0.number) }.flatMap { line in
                expressions.filter { line.text.contains($0) }.map { _ in
                    "\(file.path):\(line.number): \(line.text)"
                }
            }
        }
        #expect(places == [])
    }

    @Test("Waits of all end-to-end tests have the same patience: their support code has no other limit")
    func patience() {
        let support = SourceTree.files(below: "Tests/IntegrationTests/Support")
        #expect(!support.isEmpty)
        #expect(support.flatMap { $0.places(matching: TimeDependence.literalLimit) } == [])
    }

    @Test("Exit tests are in suites named …ExitTests, which run in a process that starts nothing else")
    func exitTests() {
        let exit = #/processExitsWith: \./#
        let files = SourceTree.unitTests.filter { !$0.places(matching: exit).isEmpty }
        #expect(!files.isEmpty)
        let apart = files.filter { $0.path.hasSuffix("ExitTests.swift") && $0.mentions(#/struct \w+ExitTests/#) }
        #expect(files.map(\.path) == apart.map(\.path))
    }

    @Test("Suites whose tests start processes check that none leaves a child behind")
    func suitesReap() {
        let start = #/\b(?:spawn|LauncherProcess|HostBench|Compiler|Subject|StuckSubject)\(/#
        let unchecked = SourceTree.unitTests.filter {
            $0.mentions("@Suite") && !$0.mentions(".reapsChildren") && !$0.path.hasSuffix("ExitTests.swift")
                && !$0.places(matching: start).isEmpty
        }
        #expect(unchecked.map(\.path) == [])
    }
}

/// Expressions that make a test's result depend on the machine.
private enum TimeDependence {
    /// A literal limit of a wait.
    static var literalLimit: Regex<Substring> { #/within: \.(?:milliseconds|seconds|minutes)\(/# }

    static var expressions: [Regex<Substring>] {
        let expressions: [Regex<Substring>] = [
            #/\b(?:eventually|turn|wait\w*)\(.*within: \.(?:milliseconds|seconds|minutes)\(/#,
            #/poll\(nil, 0, [1-9]\d/#,
            // An upper bound on measured time, or a share of it.
            #/#expect\(.*(?:now\(\) -|[eE]lapsed|[dD]uration|longest|runDelay|cpuTime|ercent).* <=? (?!patience)/#,
            // Only recently free.
            #/\bfreePort/#,
            // No seed replays it; the whole range of a type is permitted for names.
            #/\.random\(in: (?!\.min|0 \.\.\. \.max)(?!.*using:)|\.(?:shuffled|randomElement)\(\)/#,
        ]
        // Much faster than by grapheme.
        return expressions.map { $0.matchingSemantics(.unicodeScalar) }
    }

    /// Further expressions forbidden in end-to-end tests: waits of their own, programs that `scripts/setup test` does
    /// not install, and the machine's own services.
    static var onlyEndToEnd: [Regex<Substring>] {
        [
            literalLimit,
            // Nothing happens for a while.
            #/lives\(for:|expectSurvival\(/#,
            #/\b(?:redis|postgres|nginx|chromium|prometheus|gdb|strace|node|java|podman)\b/#,
            #/SystemdContainer|journald|unshare|"mount"|--fault/#,
        ]
    }

    /// Less than 100 s.
    static var shortAllowance: Regex<Substring> {
        #/"--(?:launch|update|terminate)", "(?:\d{1,2}(?:\.\d+)?s|\d+ms)"/#
    }
}

/// Tests/gate.txt.
private enum GateList {
    /// The end-to-end tests of the gate: lines with `+`.
    static let end2end = ids("+")
    /// The unit tests that only the full suite runs: lines with `-`.
    static let onlyInFull = ids("-")

    private static func ids(_ sign: Character) -> [String] {
        (SourceTree.file("Tests/gate.txt")?.lines ?? []).filter { $0.first == sign }
            .compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
    }
}

/// A line of Tests/flaky.txt: an ID, a date, and the observation.
private struct FlakyTest {
    let id: String
    let day: String
    let reason: String

    var since: Date? { try? Date("\(day)T00:00:00Z", strategy: .iso8601) }

    static let all: [FlakyTest] = (SourceTree.file("Tests/flaky.txt")?.lines ?? [])
        .filter { !$0.isEmpty && !$0.hasPrefix("#") }
        .map { line in
            let words = line.split(separator: " ", maxSplits: 2).map(String.init) + ["", "", ""]
            return FlakyTest(id: words[0], day: words[1], reason: words[2])
        }
}

/// The source of one test, found by its ID: `Module.Suite/Suite/function(label:)`.
private struct TestSource {
    let path: String
    /// From its attribute to its closing brace, without comment lines.
    let lines: [(number: Int, text: Substring)]

    var numbers: [Int] { lines.map(\.number) }

    /// The declarations of functions by name: hundreds of tests are searched in a hundred thousand lines.
    private static let functions = Dictionary(
        grouping: (SourceTree.files(below: "Tests") + SourceTree.files(below: "Examples")).filter(\.isSwift)
            .flatMap { file in
                file.lines.indices.compactMap { line in function(in: file.lines[line]).map { ($0, file, line) } }
            },
        by: { $0.0 })

    private static func function(in line: Substring) -> Substring? {
        guard line.utf8.contains(UInt8(ascii: "(")) else { return nil }
        let words = line.split(separator: " ")
        guard let keyword = words.firstIndex(of: "func"), keyword + 1 < words.count else { return nil }
        return words[keyword + 1].split(separator: "(").first
    }

    init?(_ id: String) {
        let parts = id.split(separator: "/")
        guard parts.count >= 2, let function = parts.last?.split(separator: "(").first,
            let module = parts[0].split(separator: ".").first,
            let suite = parts.dropLast().last?.split(separator: ".").last
        else { return nil }
        let folder = module == "FeedTests" ? "Examples/Feed/Tests/FeedTests" : "Tests/\(module)"
        let declarations = ["struct", "class", "extension", "enum"].map { "\($0) \(suite)" }
        for (_, file, start) in Self.functions[function] ?? [] where file.path.hasPrefix("\(folder)/") {
            guard file.lines.contains(where: { line in declarations.contains { line.contains($0) } }) else { continue }
            // The project's format aligns the closing brace with the declaration.
            let indentation = file.lines[start].prefix { $0 == " " }
            let end = file.lines[start...].firstIndex { $0 == "\(indentation)}" } ?? file.lines.endIndex - 1
            let attribute = file.lines[...start].lastIndex { $0.hasPrefix("\(indentation)@Test") } ?? start
            path = file.path
            lines = (attribute...end).map { (number: $0 + 1, text: file.lines[$0]) }
                .filter { !$0.text.drop { $0 == " " }.hasPrefix("//") }
            return
        }
        return nil
    }

    func places(matching expressions: [Regex<Substring>]) -> [String] {
        lines.filter { line in expressions.contains { line.text.contains($0) } }.map {
            "\(path):\($0.number): \($0.text)"
        }
    }
}

extension SourceFile {
    fileprivate func mentions(_ text: String) -> Bool { lines.contains { $0.contains(text) } }

    fileprivate func mentions(_ expression: Regex<Substring>) -> Bool { lines.contains { $0.contains(expression) } }
}
