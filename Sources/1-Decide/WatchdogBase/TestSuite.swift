// SPDX-License-Identifier: Apache-2.0

/// The results of tests, in the formats that CI services show.
public struct TestSuite: Equatable, Sendable {
    /// One test.
    public struct Case: Equatable, Sendable {
        /// How a test ended.
        public enum Outcome: Equatable, Sendable {
            /// As it should.
            case passed
            /// Otherwise, for this reason; the details may be empty or have many lines.
            case failed(String, details: String)
            /// It could not be told, for this reason.
            case unclear(String)
            /// It was not tried, for this reason.
            case skipped(String)
        }

        /// What was tested.
        public var name: String
        /// How it ended.
        public var outcome: Outcome
        /// How long it took; nil if that was not measured.
        public var duration: Duration?

        /// Creates a test.
        public init(_ name: String, _ outcome: Outcome, duration: Duration? = nil) {
            self.name = name
            self.outcome = outcome
            self.duration = duration
        }
    }

    /// What the tests are about.
    public var name: String
    /// The tests, at least one.
    public var cases: [Case]
    /// How long all of them took.
    public var duration: Duration
    /// What a person may want to read beside the results.
    public var output: String

    /// Creates a suite.
    public init(name: String, cases: [Case], duration: Duration, output: String = "") {
        precondition(!cases.isEmpty, "a suite without tests would pass forever")
        self.name = name
        self.cases = cases
        self.duration = duration
        self.output = output
    }

    /// The results as JUnit XML.
    ///
    /// Source: https://github.com/testmoapp/junitxml, which collects what CI services understand.
    public var junit: String {
        let failures = cases.count { if case .failed = $0.outcome { true } else { false } }
        let errors = cases.count { if case .unclear = $0.outcome { true } else { false } }
        let skipped = cases.count { if case .skipped = $0.outcome { true } else { false } }
        let suite = Self.escaped(name)
        let output = output.isEmpty ? "" : "<system-out>\(Self.escaped(output))</system-out>\n"
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites>
            <testsuite name="\(suite)" tests="\(cases.count)" failures="\(failures)" errors="\(errors)" \
            skipped="\(skipped)" time="\(duration.seconds(fractionDigits: 3))">
            \(cases.map { Self.junit($0, of: suite) }.joined(separator: "\n"))
            \(output)</testsuite>
            </testsuites>

            """
    }

    private static func junit(_ test: Case, of suite: String) -> String {
        let time = test.duration.map { " time=\"\($0.seconds(fractionDigits: 3))\"" } ?? ""
        let open = "<testcase classname=\"\(suite)\" name=\"\(escaped(test.name))\"\(time)"
        switch test.outcome {
        case .passed: return "\(open)/>"
        case .unclear(let reason): return "\(open)><error message=\"\(escaped(reason))\"/></testcase>"
        case .skipped(let reason): return "\(open)><skipped message=\"\(escaped(reason))\"/></testcase>"
        case .failed(let reason, let details):
            let failure = "<failure message=\"\(escaped(reason))\""
            let end = details.isEmpty ? "/>" : ">\(escaped(details))</failure>"
            return "\(open)>\(failure)\(end)</testcase>"
        }
    }

    /// The results as TAP version 13: https://testanything.org/tap-version-13-specification.html.
    ///
    /// Times, reasons and details are YAML blocks below the tests.
    public var tap: String {
        var lines = ["TAP version 13", "1..\(cases.count)"]
        for (index, test) in cases.enumerated() {
            // A # would begin a directive.
            let title = "\(index + 1) - \(Self.oneLine(test.name).replacing("#", with: "\\#"))"
            switch test.outcome {
            case .passed: lines.append("ok \(title)")
            case .skipped(let reason): lines.append("ok \(title) # SKIP \(Self.oneLine(reason))")
            case .unclear, .failed: lines.append("not ok \(title)")
            }
            let block = Self.block(test)
            if !block.isEmpty { lines += ["  ---"] + block.map { "  \($0)" } + ["  ..."] }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What YAML tells about a test.
    private static func block(_ test: Case) -> [String] {
        var lines: [String] = []
        switch test.outcome {
        case .passed, .skipped: break
        case .unclear(let reason), .failed(let reason, details: _): lines.append("message: \"\(quoted(reason))\"")
        }
        if let duration = test.duration {
            lines.append("duration_ms: \((duration.nanoseconds + 500_000) / 1_000_000)")
        }
        if case .failed(_, let details) = test.outcome, !details.isEmpty {
            lines.append("details: |")
            lines += details.split(separator: "\n", omittingEmptySubsequences: false).map { "  " + oneLine(String($0)) }
        }
        return lines
    }

    /// A text within double quotes of YAML.
    private static func quoted(_ text: String) -> String {
        oneLine(text).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    /// The text on one line; tabs become spaces.
    private static func oneLine(_ text: String) -> String { text.replacing("\t", with: " ").singleLine() }

    /// A text for XML 1.0, which does not allow most control characters, not even escaped.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1f}", "\u{7f}", "\u{fffe}", "\u{ffff}": result += "\u{fffd}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
