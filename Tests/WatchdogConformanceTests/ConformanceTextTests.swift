// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogConformance

@Suite("Results as text")
struct ConformanceTextTests {
    private let text = ConformanceText(width: 60)

    @Test("a remark follows a passed requirement if it fits, and is below it otherwise")
    func passed() {
        #expect(text.line(ConformanceResult(.ready, .passed(""))) == "ok    says READY=1 when it can be used\n")
        #expect(
            text.line(ConformanceResult(.ping, .passed("median 40 µs")))
                == "ok    answers pings with their numbers  (median 40 µs)\n")
        #expect(
            text.line(ConformanceResult(.ping, .passed("median 40 µs, all of them")))
                == "ok    answers pings with their numbers\n      median 40 µs, all of them\n")
    }

    @Test("failed and untested requirements have a reason, wrapped at the width")
    func failed() {
        let reason = "it sends malformed lines: 'READY'; it ends background task 4, which it has not begun"
        let lines = text.line(ConformanceResult(.conduct, .failed(reason))).split(separator: "\n")
        #expect(lines.first == "FAIL  sends only well-formed messages of known keys")
        #expect(lines.count == 3 && lines.allSatisfy { $0.count <= 60 })
        #expect(lines.dropFirst().map { $0.dropFirst(6) }.joined(separator: " ") == reason)
        #expect(text.line(ConformanceResult(.busy, .skipped("no lifecycle"))).hasSuffix("\n      no lifecycle\n"))
    }

    @Test("the summary counts each kind")
    func summary() {
        let passed = ConformanceResult(.hello, .passed(""))
        let skipped = ConformanceResult(.busy, .skipped("why"))
        #expect(text.summary([passed]) == "conforms: 1 of 1 passed\n")
        #expect(text.summary([passed, skipped]) == "conforms: 1 of 2 passed, 1 not tested\n")
        #expect(
            text.summary([passed, skipped, ConformanceResult(.ready, .failed("x"))])
                == "does not conform: 1 of 3 failed, 1 passed, 1 not tested\n")
    }

    @Test("each requirement is a test of the suite, in order, with the remarks in its output")
    func suite() {
        let results = [
            ConformanceResult(.hello, .passed("mine/1")), ConformanceResult(.ready, .failed("it said nothing")),
            ConformanceResult(.inheritance, .skipped("left out with --except")),
        ]
        let suite = TestSuite(conformanceOf: ["./a", "b"], results: results, duration: .seconds(2))
        #expect(suite.name == "watchdogd conformance ./a b" && suite.duration == .seconds(2))
        #expect(
            suite.cases == [
                .init("hello: says HELLO=1 first", .passed),
                .init("ready: says READY=1 when it can be used", .failed("it said nothing", details: "")),
                .init(
                    "inheritance: keeps the channel from the programs that it starts",
                    .skipped("left out with --except")),
            ])
        #expect(suite.output.hasPrefix("ok    says HELLO=1 first  (mine/1)\nFAIL  "))
        #expect(suite.output.hasSuffix("\n\ndoes not conform: 1 of 3 failed, 1 passed, 1 not tested\n"))
    }

    @Test("the JSON has one object for each requirement, in order")
    func json() throws {
        let results = Requirement.allCases.map { ConformanceResult($0, $0 == .ping ? .failed("no") : .passed("")) }
        let json = try ConformanceReport(command: ["./a", "b"], results: results).encoded()
        #expect(json.contains("\"conforms\" : false") && json.contains("\"remark\" : \"no\""))
        #expect(
            json.matches(of: #/"requirement" : "([a-z-]+)"/#).map { String($0.1) }
                == Requirement.allCases.map(\.rawValue))
    }
}
