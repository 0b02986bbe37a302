// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase

@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("Test result files")
struct TestResultFilesTests {
    private let suite = TestSuite(name: "run", cases: [TestSuite.Case("ready", .passed)], duration: .seconds(1))

    @Test("If one file cannot be written, the error names its option and path, and the other file is written")
    func oneFailure() throws {
        try withTemporaryDirectory { directory in
            let missing = "\(directory)/missing/results"
            for (files, option, written) in [
                (TestResultFiles(junit: missing, tap: "\(directory)/tap"), "--junit", suite.tap),
                (TestResultFiles(junit: "\(directory)/junit", tap: missing), "--tap", suite.junit),
            ] {
                let error = try #require(throws: RunError.self) { try files.write(suite) }
                #expect(error.exitCode == 73)
                #expect(error.description.hasPrefix("\(option) \(missing): cannot "), "\(error)")
                #expect(error.description.hasSuffix("(ENOENT)"), "\(error)")
                let path = option == "--junit" ? files.tap : files.junit
                let bytes = FileManager.default.contents(atPath: try #require(path))
                #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == written)
            }
        }
    }

    @Test("If neither file can be written, the error names both")
    func twoFailures() throws {
        let files = TestResultFiles(junit: "/nonexistent/junit", tap: "/nonexistent/tap")
        let error = try #require(throws: RunError.self) { try files.write(suite) }
        #expect(error.description.hasPrefix("--junit /nonexistent/junit: cannot "), "\(error)")
        #expect(error.description.contains("; --tap /nonexistent/tap: cannot "), "\(error)")
    }
}
