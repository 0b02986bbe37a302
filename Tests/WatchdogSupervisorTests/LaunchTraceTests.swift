// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogWire

@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The marks of an app in its launch")
struct LaunchTraceTests {
    private static let launchedAt = Instant(nanoseconds: 1_000_000_000_000)

    private var trace = LaunchTrace()

    private mutating func say(_ text: String, at milliseconds: Int64, isReady: Bool = false) {
        trace.note(
            ClientMessage(decoding: text.utf8), at: Self.launchedAt + .milliseconds(milliseconds), isReady: isReady)
    }

    private mutating func marks(ready: Int64? = nil) -> [String] {
        trace.newMarks(launchedAt: Self.launchedAt, ready: ready.map { .milliseconds($0) }).map {
            "\($0.mark.name) \($0.after.milliseconds)"
        }
    }

    @Test("the first frame and the first use count once each, at their first mark")
    mutating func once() {
        say("FIRST_FRAME=1\n", at: 10)
        say("USEFUL=1\n", at: 20)
        say("FIRST_FRAME=1\nUSEFUL=1\n", at: 30)
        #expect(marks() == ["firstFrame 10.0", "useful 20.0"])
        say("USEFUL=1\n", at: 40)
        #expect(marks() == [])
    }

    @Test("the extended launch ends with its last task, and not before ready")
    mutating func tasks() {
        say("BEGIN_LAUNCH_TASK=rows\nBEGIN_LAUNCH_TASK=plots\n", at: 10)
        say("END_LAUNCH_TASK=rows\n", at: 50)
        #expect(marks(ready: 100) == [])
        say("END_LAUNCH_TASK=plots\n", at: 150, isReady: true)
        #expect(marks(ready: 100) == ["extended 150.0"])
        #expect(trace.extended(launchedAt: Self.launchedAt, ready: .milliseconds(100)) == .milliseconds(150))
        #expect(trace.extended(launchedAt: Self.launchedAt, ready: .milliseconds(200)) == .milliseconds(200))
        #expect(trace.lost == 0)
    }

    @Test("tasks that end before the launch do not end it")
    mutating func waitsForReady() {
        say("BEGIN_LAUNCH_TASK=rows\nEND_LAUNCH_TASK=rows\n", at: 10)
        #expect(marks() == [])
        #expect(marks(ready: 100) == ["extended 100.0"])
    }

    @Test("after the launch, a task may begin only while another is open", arguments: [true, false])
    mutating func late(isOneOpen: Bool) {
        if isOneOpen { say("BEGIN_LAUNCH_TASK=rows\n", at: 10) }
        say("BEGIN_LAUNCH_TASK=late\n", at: 200, isReady: true)
        #expect(trace.tasks.contains { $0.name == "late" } == isOneOpen)
        #expect(trace.lost == (isOneOpen ? 0 : 1))
    }

    @Test("at most sixteen tasks are measured, and no name counts twice", arguments: [16, 17])
    mutating func limit(count: Int) {
        for number in 1...count { say("BEGIN_LAUNCH_TASK=\(number)\n", at: 10) }
        #expect(trace.tasks.count == 16)
        #expect(trace.lost == count - 16)
        say("BEGIN_LAUNCH_TASK=1\nEND_LAUNCH_TASK=nobody\n", at: 20)
        #expect(trace.lost == count - 16 + 2)
    }
}
