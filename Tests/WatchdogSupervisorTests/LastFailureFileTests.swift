// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("The termination message of a daemon")
struct LastFailureFileTests {
    private let time = WallTime(seconds: 1_763_700_000)

    @Test("is the last failure of any app, with its time")
    func last() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/message"
            let file = try #require(LastFailureFile(path))
            for number in 1...50 { file.note("web[\(number)] was killed by SIGSEGV", at: time) }
            file.note("db was not started: no such file", at: time)
            file.finish(within: patience)
            #expect(
                FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
                    == "db was not started: no such file\nTime: \(LocalZone.text(time))\n")
        }
    }

    @Test("gains the path of a later report and keeps the time of the failure, unless another app has failed since")
    func report() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/message"
            let file = try #require(LastFailureFile(path))
            func text() -> String? {
                file.finish(within: patience)
                return FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
            }
            let report = ReportOutcome(verdict: Verdict(kind: .unknown, line: "", brief: ""), path: "/r/web.ips")
            let later = WallTime(seconds: time.seconds + 5)
            file.note("web[7] was killed by SIGSEGV", at: time)
            file.note("web[7] was killed by SIGSEGV", report, at: later)
            let whole = "web[7] was killed by SIGSEGV\nTime: \(LocalZone.text(time))\nReport: /r/web.ips\n"
            #expect(text() == whole)
            file.note("db[8] killed", report, at: later)
            file.note("web[7] was killed by SIGSEGV", report, at: later)
            #expect(text() == "db[8] killed\nTime: \(LocalZone.text(later))\nReport: /r/web.ips\n")
        }
    }

    @Test("does not exist before an app has failed, or if it cannot be written")
    func none() throws {
        try withTemporaryDirectory { directory in
            let file = try #require(LastFailureFile("\(directory)/message"))
            file.finish(within: patience)
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/message"))
            #expect(LastFailureFile("\(directory)/none/message") == nil)
        }
    }
}
