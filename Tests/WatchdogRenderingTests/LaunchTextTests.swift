// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRecording
@testable import WatchdogRendering

/// Recordings as text; the goldens also serve readers of the documentation as examples.
///
/// `WATCHDOGD_UPDATE_GOLDENS=1 swift test --filter LaunchTextTests` rewrites them.
@Suite("Launch text")
struct LaunchTextTests {
    static let recordings: [(name: String, recording: LaunchRecording)] = [
        ("starsearcher", Launches.starSearcher), ("python", Launches.python), ("killed", Launches.killed),
        ("rung-c", Launches.rungC), ("rung-d", Launches.rungD),
        ("constructors", Launches.constructors),
    ]

    @Test("Texts are unchanged, narrow and wide", arguments: recordings.map(\.name))
    func unchanged(name: String) throws {
        let recording = try #require(Self.recordings.first { $0.name == name }?.recording)
        for columns in [79, 199] {
            let text = recording.text(LaunchTextStyle(columns: columns))
            let path = TestFiles.folder(of: #filePath) + "/Goldens/launches/\(name).\(columns + 1).txt"
            if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
                try TestFiles.write(Array(text.utf8), to: path)
            }
            let golden = try #require(TestFiles.read(path), "\(path) is missing; set WATCHDOGD_UPDATE_GOLDENS=1")
            #expect(text == String(decoding: golden, as: UTF8.self), "\(path)")
            #expect(text.split(separator: "\n").filter { $0.count > columns } == [])
        }
    }

    @Test("Colors add only escape sequences")
    func colors() {
        for (_, recording) in Self.recordings {
            let colored = recording.text(LaunchTextStyle(columns: 100, isColored: true))
            let plain = recording.text(LaunchTextStyle(columns: 100))
            #expect(colored.contains("\u{1b}["))
            #expect(Self.trimmed(colored.replacing(/\u{1b}\[[0-9;]*m/, with: "")) == Self.trimmed(plain))
        }
    }

    /// The lines without trailing spaces, which escape sequences may follow.
    private static func trimmed(_ text: String) -> [String] {
        text.split(separator: "\n").map { line in
            var line = String(line)
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }

    @Test("Names with escape sequences and line breaks cannot escape their place")
    func hostileNames() {
        var recording = Launches.starSearcher
        let evil = "\u{1b}[2J\nroot: \u{202e}x"
        recording.lanes[1].name = evil
        recording.objects[0].path = "/" + evil
        recording.program.command = [evil]
        recording.program.executables = [evil]
        recording.marks[2].name = evil
        recording.notes = [evil]
        recording.lanes[0].spans[3].detail = evil
        recording.samples?.roots[0].function = evil
        recording.constructors = [
            LaunchConstructor(object: evil, function: evil, offset: 1, isOwn: false, begin: .zero, end: .seconds(1))
        ]
        let text = recording.text()
        #expect(!text.contains("\u{1b}"))
        #expect(!text.contains("\u{202e}"))
        #expect(!text.contains("\nroot:"))
    }

    @Test("Functions are listed by their own samples, whoever called them, then code without names")
    func functions() {
        var recording = Launches.python
        let leaf = SampledCalls.Call(function: "parse", object: "/bin/app", count: 30)
        recording.samples = SampledCalls(
            interval: .milliseconds(1), count: 100,
            roots: [
                .init(function: "main", object: "/bin/app", count: 60, callees: [leaf]),
                .init(function: "libz.so.1", object: "/lib/libz.so.1", count: 25),
                .init(function: "parse", object: "/bin/app", count: 14),
                .init(function: "rare", object: "/bin/app", count: 1),
            ])
        let text = recording.text()
        #expect(
            text.contains(
                "ran in\n    44.0 %  parse  (app)\n    30.0 %  main  (app)\n    25.0 %  code without names\n\n"))
    }

    @Test("Of a deep path, the beginning and the end are shown")
    func deepPath() {
        var recording = Launches.python
        var call = SampledCalls.Call(function: "f29", object: "/bin/app", count: 100)
        for depth in (0..<29).reversed() {
            call = .init(function: "f\(depth)", object: "/bin/app", count: 100, callees: [call])
        }
        recording.samples = SampledCalls(interval: .milliseconds(1), count: 100, roots: [call])
        let text = recording.text()
        #expect(text.contains("  f2  (app)\n               15 more calls\n   100.0 %     f18  (app)\n"))
        #expect(text.contains("f29  (app)"))
        #expect(!text.contains("f17") && !text.contains("f3 "))
    }

    @Test("A library is marked as unused only with enough samples", arguments: [(99, false), (100, true)])
    func unusedMark(samples: Int, isMarked: Bool) {
        var recording = Launches.starSearcher
        recording.samples?.count = samples
        #expect(recording.text().contains("- in no sample of the main thread") == isMarked)
    }

    @Test("Values that no recorder writes are drawn anyway")
    func absurdValues() {
        var recording = Launches.starSearcher
        recording.end.time = .nanoseconds(-5)
        _ = recording.text()
        recording.end.time = .nanoseconds(Int64.max)
        recording.phases[2].end = .nanoseconds(Int64.min)
        recording.lanes[0].spans[4].begin = .nanoseconds(Int64.min)
        recording.lanes[0].spans[5].end = .nanoseconds(Int64.max)
        recording.samples?.count = 0
        recording.resources.peakMemory = .max
        recording.resources.bytesRead = .min
        #expect(!recording.text(LaunchTextStyle(columns: -1)).isEmpty)
    }

    @Test("Phases without times are not shown as idle time")
    func partialTimes() throws {
        var recording = Launches.rungC
        #expect(recording.phases.contains { $0.time == nil } && recording.phases.contains { $0.time != nil })
        #expect(LaunchFigures(recording).mainTime == recording.lanes[0].accounting)
        recording.lanes = []
        #expect(LaunchFigures(recording).mainTime == nil)
        for index in recording.phases.indices { recording.phases[index].time = ThreadTime(running: ms(1)) }
        #expect(LaunchFigures(recording).mainTime == ThreadTime(running: ms(Double(recording.phases.count))))
    }

    /// A server that listens after 28 ms, and whose threads were recorded for a second longer.
    static var server: LaunchRecording {
        let main = LaneScript(thread: 10, process: 10, name: "server")
        main.run(28).blocked(1_000, in: "epoll_wait")
        let late = LaneScript(thread: 11, process: 10, name: "late", begin: 30)
        late.run(900)
        var recording = Launches.recording(
            of: "/usr/bin/server", [main.lane, late.lane], rung: .a, phases: [(.main, 28)],
            end: LaunchEnd(kind: .listen, time: ms(28)))
        recording.marks = [
            LaunchMark(kind: .listen, time: ms(28)), LaunchMark(kind: .signpost, time: ms(500), name: "warm"),
        ]
        return recording
    }

    @Test("A picture ends with the launch, or with the last phase after it, however long was recorded")
    func drawnLength() {
        var recording = Self.server
        #expect(LaunchFigures(recording).drawnLength == ms(28))
        #expect(LaunchFigures(recording).drawnLanes.map(\.threadID) == [10])
        let text = recording.text()
        #expect(text.contains(/Lanes +on CPU +0 +28 ms\n/))
        #expect(text.contains(/main +10 +28\.00 +#+\n/))
        #expect(text.contains("  1 more, which began after the launch\n"))
        recording.phases.append(LaunchPhase(kind: .untilUseful, begin: ms(28), end: ms(40)))
        #expect(LaunchFigures(recording).drawnLength == ms(40))
        #expect(LaunchFigures(recording).drawnLanes.map(\.threadID) == [10, 11])
    }

    @Test("The recorder's stops are named, and yield neither a headline nor a long block")
    func recorderStops() {
        let main = LaneScript(thread: 10, process: 10, name: "app")
        let recorder = Waker.thread(id: 9, name: "watchdogd", nice: 0, isOwn: false)
        main.blocked(0.1, in: LaneSpan.recorderStop, by: recorder).run(0.4)
        main.blocked(0.9, in: LaneSpan.recorderStop, by: recorder).run(0.6)
        var recording = Launches.recording(
            of: "/usr/bin/app", [main.lane], rung: .a, phases: [(.request, 0.4), (.exec, 1.5), (.main, 2)],
            end: LaunchEnd(kind: .exit, time: ms(2), code: 0))
        for (index, stopped) in [0.1, 0.9, 0].enumerated() {
            recording.phases[index].stopped = ms(stopped)
            recording.phases[index].time?.blocked = .zero
        }
        let figures = LaunchFigures(recording)
        #expect(figures.mainTime == ThreadTime(running: ms(1)))
        #expect(figures.blocks(of: main.lane) == [])
        let text = recording.text()
        #expect(text.contains("  Mostly       main 500 µs (25 %), request to exec 300 µs (15 %), kernel\n"))
        #expect(text.contains("on a CPU 1.00 ms (50 %), stopped by the recorder 1.00 ms (50 %)\n"))
        #expect(text.contains("  kernel executes         0.20    0.20    0.00    0.00  "))
        #expect(text.contains("\n  without the 1.00 ms for which the recorder stopped the program\n"))
        #expect(!text.contains("Longest blocks"))
    }

    @Test("A phase without times has no invented breakdown")
    func unknownPhase() {
        var recording = Launches.killed
        recording.phases[8].time = nil
        #expect(recording.text().contains(/application +19980\.0 +- +- +-  -+>\n/))
    }

    @Test("A launch with hundreds of threads has a bounded number of lines")
    func crowd() {
        let text = Launches.crowd(spansPerThread: 30).text()
        #expect(text.split(separator: "\n").count < 100)
        #expect(text.contains("184 more, which ran"))
    }
}
