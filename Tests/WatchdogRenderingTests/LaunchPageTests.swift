// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogRecording
@testable import WatchdogRendering
@testable import WatchdogReport

/// The pages of recordings, as data and in a browser.
///
/// `WATCHDOGD_SCREENSHOTS=/some/folder swift test --filter LaunchPageTests` leaves pictures there.
@Suite("Launch pages", .reapsChildren)
struct LaunchPageTests {
    private func decoded(_ data: LaneData) -> [[(state: UInt64, length: UInt64, numbers: [UInt64])]] {
        var bytes = data.bytes[...]
        func number() -> UInt64 {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while let byte = bytes.popFirst() {
                value |= UInt64(byte & 127) << shift
                if byte < 128 { break }
                shift += 7
            }
            return value
        }
        let lanes = data.lanes.map { lane in
            (0..<lane.count).map { _ in
                let first = number()
                let count = [1, 0, 0, 2, 2, 0][Int(first & 7)]
                return (first & 7, first >> 3, (0..<count).map { _ in number() })
            }
        }
        #expect(bytes.isEmpty)
        return lanes
    }

    @Test("A page lists the timed constructors, the slowest first, and has no table without them")
    func constructors() throws {
        let page = LaunchPage.render(Launches.constructors)
        #expect(page.contains("<summary>Constructors (5)</summary>"))
        let names = ["log_init", "0x1179", "init_cacheinfo", "_GLOBAL__sub_I_main.cpp"].map { "<td>\($0)</td>" }
        let places = try names.map { try #require(page.firstRange(of: $0)?.lowerBound) }
        #expect(places == places.sorted())
        #expect(page.contains("<td>/usr/lib/x86_64-linux-gnu/libSuperfastLog.so</td>"))
        #expect(!LaunchPage.render(Launches.starSearcher).contains("<summary>Constructors"))
    }

    @Test("The data of a page contains every span, with its place, its waker and its CPU")
    func encoding() throws {
        let recording = Launches.starSearcher
        let data = LaneData(recording.lanes, length: .seconds(10))
        let lanes = decoded(data)
        #expect(data.resolution == 0)
        for (lane, spans) in zip(recording.lanes, lanes) {
            #expect(spans.map(\.state) == lane.spans.map(\.state.number))
            var time = UInt64(lane.begin.nanoseconds / 1_000)
            for (span, read) in zip(lane.spans, spans) {
                #expect(time == UInt64(span.begin.nanoseconds / 1_000))
                time += read.length
                if span.state == .blocked {
                    #expect(
                        read.numbers[0] == 0
                            ? span.detail == nil : data.details[Int(read.numbers[0]) - 1] == span.detail)
                    #expect(
                        read.numbers[1] == 0 ? span.waker == nil : data.wakers[Int(read.numbers[1]) - 1] == span.waker)
                } else if span.state == .running {
                    #expect(read.numbers == [UInt64((span.processor ?? -1) + 1)])
                }
            }
            #expect(time == UInt64((lane.spans.last?.end ?? .zero).nanoseconds / 1_000))
        }
    }

    @Test("Gaps, overlaps and reversed spans of a damaged recording become drawable")
    func damagedLanes() {
        var lane = ThreadLane(threadID: 1, processID: 1, name: "x", begin: ms(-4))
        lane.spans = [
            LaneSpan(state: .running, begin: ms(-4), end: ms(2), processor: -9),
            LaneSpan(state: .blocked, begin: ms(5), end: ms(9)),
            LaneSpan(state: .runnable, begin: ms(7), end: ms(6)),
            LaneSpan(state: .preempted, begin: ms(8), end: .nanoseconds(Int64.max)),
            LaneSpan(state: .running, begin: .nanoseconds(Int64.min), end: .nanoseconds(Int64.max), processor: .max),
        ]
        let spans = decoded(LaneData([lane], length: ms(20)))[0]
        #expect(spans.map(\.state) == [0, 5, 3, 1])
        #expect(spans.map(\.length) == [2_000, 3_000, 4_000, 11_000])
    }

    @Test("A page that would be too large gets a coarser resolution; no time is lost")
    func resolution() {
        let lanes = Launches.crowd(threads: 20, seconds: 2, spansPerThread: 300).lanes
        let whole = LaneData(lanes, length: .seconds(2))
        let coarse = LaneData(lanes, length: .seconds(2), budget: whole.bytes.count - 1)
        #expect(whole.resolution == 0)
        #expect(coarse.resolution > 0)
        #expect(coarse.bytes.count < whole.bytes.count)
        for (one, other) in zip(decoded(whole), decoded(coarse)) {
            #expect(one.reduce(0) { $0 + $1.length } == other.reduce(0) { $0 + $1.length })
        }
    }

    @Test("A page draws nothing after the launch")
    func end() {
        let data = LaunchPageData(LaunchFigures(LaunchTextTests.server)).json
        #expect(data.contains("\"length\":28000,\n\"end\":28000,\n"))
        #expect(data.contains("first listen") && !data.contains("warm") && !data.contains("late"))
        #expect(LaunchPage.render(LaunchTextTests.server).contains(">1 thread</h2>"))
    }

    @Test(
        "Base64 follows RFC 4648",
        arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")])
    func base64(text: String, encoded: String) {
        #expect(Base64.text(of: Array(text.utf8)) == encoded)
    }

    @Test("No name of a thread, file, function or mark can escape its place in the page")
    func hostileNames() {
        let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\\\u{2028}\n\u{1b}"
        var recording = Launches.starSearcher
        for index in recording.lanes.indices { recording.lanes[index].name = evil }
        for index in recording.objects.indices { recording.objects[index].path = "/" + evil }
        for index in recording.marks.indices { recording.marks[index].name = evil }
        for index in recording.lanes[0].spans.indices {
            recording.lanes[0].spans[index].detail = evil
            recording.lanes[0].spans[index].waker = .thread(id: 12_253, name: evil, nice: 1, isOwn: true)
        }
        recording.program = LaunchedProgram(command: [evil], executables: [evil], processID: 12_251)
        recording.host = RecordingHost(architecture: evil, kernel: evil, processors: 2)
        recording.samples?.roots[0].function = evil
        recording.notes = [evil]
        let page = LaunchPage.render(recording)
        #expect(page.split(separator: "<script").count == 3)
        #expect(page.split(separator: "</script>").count == 3)
        #expect(!page.contains("<img"))
        #expect(!page.contains("\u{2028}"))
        #expect(!page.contains("\u{1b}"))
    }

    @Test("A recording of 200 threads for 10 s is at most 2 MB")
    func size() {
        let recording = Launches.crowd()
        #expect(recording.lanes.reduce(0) { $0 + $1.spans.count } > 99_000)
        let page = LaunchPage.render(recording)
        #expect(page.utf8.count < 2_000_000)
    }

    private static let media: [(name: String, width: Int64, isDark: Bool, medium: String)] = [
        ("phone", 390, false, "screen"), ("desktop", 1_280, false, "screen"), ("desktop-dark", 1_280, true, "screen"),
        ("phone-dark", 390, true, "screen"), ("paper", 718, false, "print"),
    ]

    @Test(
        "In a browser the lanes are drawn, nothing is clipped or fetched, and the console is empty",
        .enabled(if: Browser.program != nil, "no chromium is installed"))
    func browser() throws {
        try Self.withBrowser { browser, folder in
            for (name, recording) in LaunchTextTests.recordings + [("crowd", Launches.crowd())] {
                let path = "\(folder)/\(name).html"
                try TestFiles.write(Array(LaunchPage.render(recording).utf8), to: path)
                try Self.keep(Array(LaunchPage.render(recording).utf8), "launch-\(name).html")
                for medium in Self.media {
                    try browser.show(width: medium.width, isDark: medium.isDark, medium: medium.medium)
                    try browser.open(path)
                    let hasDrawn = try browser.evaluate("String(document.documentElement.hasAttribute('data-drawn'))")
                    #expect(
                        hasDrawn == String(recording.lanes.contains { !$0.spans.isEmpty }), "\(name), \(medium.name)")
                    #expect(try browser.evaluate(PageTests.inspection) == "", "\(name), \(medium.name)")
                    if Self.keepsPictures {
                        try Self.keep(try browser.screenshot(), "launch-\(name)-\(medium.name).png")
                    }
                }
                #expect(PageTests.said(browser.events) == [], "\(name)")
                #expect(PageTests.asked(browser.events, except: path) == [], "\(name)")
            }
        }
    }

    @Test(
        "Keys zoom, move and step through the longest blocks, and announce the result",
        .enabled(if: Browser.program != nil, "no chromium is installed"))
    func keyboard() throws {
        try Self.withBrowser { browser, folder in
            let path = "\(folder)/star.html"
            try TestFiles.write(Array(LaunchPage.render(Launches.starSearcher).utf8), to: path)
            try browser.show(width: 1_280, isDark: false)
            try browser.open(path)
            func press(_ key: String) throws -> (said: String, range: String) {
                try browser.send("Input.dispatchKeyEvent", ["type": .text("keyDown"), "key": .text(key)])
                try browser.send("Input.dispatchKeyEvent", ["type": .text("keyUp"), "key": .text(key)])
                return (
                    try browser.evaluate("document.getElementById('said').textContent"),
                    try browser.evaluate("document.getElementById('range').textContent")
                )
            }
            _ = try browser.evaluate("document.getElementById('lanes').focus()")
            #expect(try browser.evaluate("document.getElementById('range').textContent") == "0 µs to 2.30 s")
            #expect(try press("+").range.wholeMatch(of: /57\d ms to 1\.7\d s/) != nil)
            #expect(try press("0").range == "0 µs to 2.30 s")
            let block = try press("n").said
            #expect(block.hasPrefix("main 12251: blocked 754 ms in futex, woken by 12253 \"star loader\" (nice 19)"))
            #expect(try press("n").said.hasPrefix("main 12251: blocked 91 ms in connect"))
            #expect(try press("ArrowRight").said.hasPrefix("main 12251: runnable 600 µs"))
            #expect(try press("ArrowDown").said.hasPrefix("\"star loader\" 12253: "))
            #expect(try press("Escape").said == "")
        }
    }

    private static var keepsPictures: Bool { getenv("WATCHDOGD_SCREENSHOTS") != nil }

    private static func keep(_ bytes: [UInt8], _ name: String) throws {
        guard let folder = getenv("WATCHDOGD_SCREENSHOTS").map({ String(cString: $0) }) else { return }
        try TestFiles.write(bytes, to: "\(folder)/\(name)")
    }

    private static func withBrowser(_ body: (Browser, String) throws -> Void) throws {
        let program = try #require(Browser.program)
        try TestFiles.withFolder { folder in
            let browser = try Browser(program, folder: folder)
            try body(browser, folder)
            _ = try? browser.send("Browser.close")
        }
    }
}
