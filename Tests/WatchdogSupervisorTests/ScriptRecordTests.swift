// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogConfiguration

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The results of a script's steps")
struct ScriptRecordTests {
    private static let text = "# Saves.\nlaunch\nwait ready within 5s\n\nbackground  # and back\nexpect alive\n"

    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// The record of a script that begins at 100 ms, with these completion times.
    private func record(done times: Int64...) throws -> ScriptRecord {
        let file = ConfigurationFile(path: "save.wds", contents: Array(Self.text.utf8))
        var record = ScriptRecord(of: try LifecycleScript(parsing: file), at: at(100))
        for time in times { record.pass(at: at(time)) }
        return record
    }

    @Test("each step is a test with its line, its original command and its duration")
    func passed() throws {
        let record = try record(done: 101, 501, 501, 1_501)
        #expect(record.index == 4 && record.failure == nil)
        #expect(
            record.cases(details: "a crash log") == [
                .init("line 2: launch", .passed, duration: .milliseconds(1)),
                .init("line 3: wait ready within 5s", .passed, duration: .milliseconds(400)),
                .init("line 5: background  # and back", .passed, duration: .zero),
                .init("line 6: expect alive", .passed, duration: .seconds(1)),
            ])
    }

    @Test("the step that stops a script has failed with the script's message; later steps are skipped")
    func failed() throws {
        var record = try record(done: 101)
        record.fail(1, because: "app is launching, after 5 s", at: at(5_101))
        let message = "save.wds:3: wait ready within 5s: app is launching, after 5 s"
        #expect(record.failure == message)
        #expect(
            record.cases(details: "a crash log") == [
                .init("line 2: launch", .passed, duration: .milliseconds(1)),
                .init(
                    "line 3: wait ready within 5s", .failed(message, details: "a crash log"), duration: .seconds(5)),
                .init("line 5: background  # and back", .skipped("the script stopped at line 3")),
                .init("line 6: expect alive", .skipped("the script stopped at line 3")),
            ])
    }

    @Test("a step that is rejected after its completion has failed, and the step in progress is skipped")
    func refused() throws {
        var record = try record(done: 101, 501, 502)
        record.fail(2, because: "background was refused: why", at: at(702))
        let cases = record.cases(details: "")
        #expect(record.failure == "save.wds:5: background  # and back: background was refused: why")
        #expect(cases.count == 4 && cases[1].outcome == .passed && cases[2].duration == .milliseconds(201))
        #expect(cases[3] == .init("line 6: expect alive", .skipped("the script stopped at line 5")))
    }

    @Test("the steps follow the expectations of a run, and replace its exit code")
    func suite() throws {
        func suite(_ results: [RunExpectations.Result], _ record: ScriptRecord) -> TestSuite {
            TestSuite(
                run: "app", results: results, script: record, exit: 0, end: "app exited", duration: .seconds(1),
                report: nil)
        }
        let record = try record(done: 101, 501, 501, 1_501)
        #expect(suite([], record).cases == record.cases(details: ""))
        let expectation = RunExpectations.Result(
            expectation: .noIncident, judgement: .init(isMet: true, actual: "nothing was reported"))
        #expect(suite([expectation], record).cases.map(\.name).prefix(2) == ["no incident", "line 2: launch"])
    }
}
