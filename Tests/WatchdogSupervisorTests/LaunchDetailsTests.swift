// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The launch in a report")
struct LaunchDetailsTests {
    private static let launchedAt = Instant(nanoseconds: 1_000_000_000_000)

    private func trace(_ lines: [String]) -> LaunchTrace {
        var trace = LaunchTrace()
        trace.noteRequest(at: Self.launchedAt - .milliseconds(2))
        trace.noteHello(at: Self.launchedAt + .milliseconds(40))
        for line in lines {
            trace.note(ClientMessage(decoding: Array(line.utf8)), at: Self.launchedAt + .milliseconds(100))
        }
        return trace
    }

    private func mark(_ phase: String, _ id: Int, _ milliseconds: Int64, _ name: String) -> String {
        "SIGNPOST=\(phase) \(id) \((Self.launchedAt + .milliseconds(milliseconds)).nanoseconds) main a\t\(name)\n"
    }

    private func launch(_ trace: LaunchTrace, ready: Duration? = nil) -> LaunchDetails? {
        LaunchDetails(trace, launchedAt: Self.launchedAt, ready: ready, until: Self.launchedAt + .seconds(20))
    }

    @Test("has the phases up to the kill, and the one that was open then")
    func killed() throws {
        let trace = trace([
            "FIRST_FRAME=1\n", mark("begin", 1, 200, "photos"), mark("begin", 2, 300, "photo 1"),
            mark("end", 2, 900, "photo 1"), "BEGIN_LAUNCH_TASK=rows\n",
        ])
        let details = try #require(launch(trace))
        #expect(details.isReady == false)
        #expect(details.phases.map(\.name) == ["exec", "hello", "first-frame", "ready"])
        #expect(details.phases.map { $0.nanoseconds / 1_000_000 } == [2, 40, 60, 19_900])
        #expect(details.phases.map(\.isOpen) == [false, false, false, true])
        #expect(details.signposts.map(\.isOpen) == [true, false])
        #expect(details.signposts[0].nanoseconds == 19_800_000_000)
        #expect(details.tasks.map(\.isOpen) == [true])
    }

    @Test("the launch of a ready app is reported only with marks", arguments: [true, false])
    func ready(isMarked: Bool) {
        let details = launch(trace(isMarked ? ["USEFUL=1\n"] : []), ready: .seconds(1))
        #expect((details != nil) == isMarked)
        #expect(details?.phases.last?.isOpen != true)
    }

    @Test("has the event that the app was launched for, also if the app is ready and marked nothing")
    func event() throws {
        var trace = trace([])
        trace.noteCause(LaunchingEvent(kind: "url\u{1b}[2J", payload: "x", sender: "mail"))
        let details = try #require(launch(trace, ready: .seconds(1)))
        #expect(details.lines.contains("Launched for: url\\x1b[2J from mail, 1 byte of payload: not handled yet"))
    }

    @Test("is not reported if another watchdogd began it")
    func inherited() {
        #expect(launch(LaunchTrace()) == nil)
    }

    @Test("has redacted names")
    func redacted() {
        let trace = trace([mark("begin", 1, 100, "get --password=hunter2"), "BEGIN_LAUNCH_TASK=TOKEN=hunter2\n"])
        let text = launch(trace)?.lines.joined() ?? ""
        #expect(text.contains("<redacted>"))
        #expect(!text.contains("hunter2"))
    }

    @Test("keeps the open and the longest marks if there are too many", arguments: [128, 129])
    func limit(count: Int) throws {
        var lines = [mark("begin", 0, 1, "open")]
        for id in 1..<count {
            let at = Int64(id) * 10
            lines += [mark("begin", id, at, "\(id)"), mark("end", id, at + Int64(id) % 7, "\(id)")]
        }
        let details = try #require(launch(trace(lines)))
        #expect(details.signposts.count == 128)
        #expect(details.signposts.contains { $0.name == "open" })
        #expect(details.lostMarks == (count == 128 ? nil : 1))
    }
}
