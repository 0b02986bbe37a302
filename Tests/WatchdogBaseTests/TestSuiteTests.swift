// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Test results for CI services")
struct TestSuiteTests {
    private let suite = TestSuite(
        name: "run <a&b>",
        cases: [
            .init("ready within 400ms", .passed, duration: .microseconds(400_500)),
            .init("no hang # ever", .failed("an answer took \"612 ms\"\u{1}", details: "Thread 0:\n0\ta < b\u{1b}[2J")),
            .init("against", .unclear("too few runs")),
            .init("line 7: expect <alive>", .skipped("it stopped\nat \"#6\"")),
        ], duration: .milliseconds(1_234), output: "5 > 4")

    @Test("JUnit counts, escapes, and contains only what XML allows")
    func junit() {
        #expect(
            suite.junit == """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites>
                <testsuite name="run &lt;a&amp;b&gt;" tests="4" failures="1" errors="1" skipped="1" time="1.234">
                <testcase classname="run &lt;a&amp;b&gt;" name="ready within 400ms" time="0.401"/>
                <testcase classname="run &lt;a&amp;b&gt;" name="no hang # ever">\
                <failure message="an answer took &quot;612 ms&quot;\u{fffd}">Thread 0:
                0\ta &lt; b\u{fffd}[2J</failure></testcase>
                <testcase classname="run &lt;a&amp;b&gt;" name="against"><error message="too few runs"/></testcase>
                <testcase classname="run &lt;a&amp;b&gt;" name="line 7: expect &lt;alive&gt;">\
                <skipped message="it stopped
                at &quot;#6&quot;"/></testcase>
                <system-out>5 &gt; 4</system-out>
                </testsuite>
                </testsuites>

                """)
    }

    @Test("TAP has a plan, a line for each test, and failures as YAML")
    func tap() {
        #expect(
            suite.tap == """
                TAP version 13
                1..4
                ok 1 - ready within 400ms
                  ---
                  duration_ms: 401
                  ...
                not ok 2 - no hang \\# ever
                  ---
                  message: "an answer took \\"612 ms\\"\\\\x01"
                  details: |
                    Thread 0:
                    0 a < b\\x1b[2J
                  ...
                not ok 3 - against
                  ---
                  message: "too few runs"
                  ...
                ok 4 - line 7: expect <alive> # SKIP it stopped\\x0aat "#6"

                """)
    }

    @Test("TAP has the duration of a failure between its message and its details")
    func failedInTime() {
        let suite = TestSuite(
            name: "a", cases: [.init("b", .failed("c", details: "d"), duration: .seconds(2))], duration: .zero)
        #expect(
            suite.tap.split(separator: "\n").dropFirst(3) == [
                "  ---", "  message: \"c\"", "  duration_ms: 2000", "  details: |", "    d", "  ...",
            ])
    }

    @Test("no line of a text can imitate a line of TAP")
    func injection() {
        let suite = TestSuite(
            name: "a",
            cases: [
                .init("b\nok 2 - c", .failed("d\n1..9", details: "\nnot ok 7")), .init("e", .skipped("f\nnot ok 8")),
            ],
            duration: .zero)
        let lines = suite.tap.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.filter { $0.hasPrefix("ok") || $0.hasPrefix("not ok") || $0.hasPrefix("1..") }.count == 3)
    }
}
