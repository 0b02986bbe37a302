// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogWire

@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The picture of a launch")
struct LaunchPictureTests {
    private static let launchedAt = Instant(nanoseconds: 1_000_000_000_000)

    private func trace(_ lines: [String]) -> LaunchTrace {
        var trace = LaunchTrace()
        for line in lines {
            trace.note(ClientMessage(decoding: Array(line.utf8)), at: Self.launchedAt + .milliseconds(2_100))
        }
        return trace
    }

    private func mark(_ phase: String, _ id: Int, _ milliseconds: Int64, _ thread: String, _ name: String) -> String {
        let at = Self.launchedAt + .milliseconds(milliseconds)
        return "SIGNPOST=\(phase) \(id) \(at.nanoseconds) \(thread) launch\t\(name)\n"
    }

    private func picture(
        _ lines: [String], ready: Duration = .milliseconds(2_310), isUnicode: Bool = true
    ) -> LaunchPicture {
        LaunchPicture(
            name: "QuickPick", launchedAt: Self.launchedAt, after: ready, limit: .seconds(20), trace: trace(lines),
            blockedPercent: 87, isUnicode: isUnicode)
    }

    private var slow: [String] {
        [
            mark("begin", 1, 100, "main", "load interface"), mark("end", 1, 700, "main", "load interface"),
            mark("begin", 2, 700, "main", "wait for the databases to open"),
            mark("end", 2, 2_050, "main", "wait for the databases to open"),
            mark("begin", 3, 720, "other", "JSON"), mark("end", 3, 1_950, "other", "JSON"),
            mark("begin", 4, 1_000, "other", "photos"), mark("event", 5, 2_100, "main", "drawn"), "FIRST_FRAME=1\n",
        ]
    }

    @Test("has the main lane first and the parallel work below it, and ends with goal, advice and limit")
    func golden() {
        #expect(picture(slow).text == Self.unicode)
    }

    @Test("is plain ASCII if the terminal requires it")
    func ascii() {
        let text = picture(slow, isUnicode: false).text
        #expect(text == Self.ascii)
        #expect(text.allSatisfy { $0.isASCII })
    }

    @Test("fits 80 columns, whatever the app's text", arguments: [true, false])
    func width(isUnicode: Bool) {
        let name = String(repeating: "x", count: 64)
        var lines = (0..<100).map { mark("begin", $0, Int64($0) * 1_000_000, "main", name) }
        lines += (0..<100).map { mark("end", $0, Int64($0) * 2_000_000, "main", name) }
        lines.append("SIGNPOST=begin 1 -9223372036854775808 other a\tb\nSIGNPOSTS_LOST=77\n")
        lines.append("SIGNPOST=begin 1 9223372036854775807 other a\tb\n")
        var picture = picture(lines, ready: .seconds(200_000), isUnicode: isUnicode)
        picture.name = name
        for line in picture.text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        #expect(picture.text.contains("and 60 more"))
        #expect(picture.text.contains("77 marks are missing"))
    }

    @Test("the picture of an app without marks states that")
    func nothing() {
        let text = picture([], ready: .zero).text
        #expect(text.contains("the app has marked nothing"))
        #expect(text.contains("\n  limit  20 s    ready took 0 % of it, met\n"))
        #expect(!text.contains("goal") && !text.contains("advice"), "both are for apps with a screen")
    }

    @Test("the picture of a killed launch ends with the kill, and open phases have an arrow")
    func killed() {
        let picture = LaunchPicture(
            name: "QuickPick", launchedAt: Self.launchedAt, .killed, after: .seconds(20), limit: .seconds(20),
            trace: trace([
                mark("begin", 1, 100, "main", "friends.json"), mark("end", 1, 8_200, "main", "friends.json"),
                mark("begin", 2, 8_200, "main", "photos"), mark("begin", 3, 18_000, "main", "photo 6"),
                "BEGIN_LAUNCH_TASK=rows\n",
            ]), blockedPercent: nil, isUnicode: true)
        #expect(picture.text == Self.killedText)
    }

    @Test("shows first use and tasks, which may end after the launch")
    func extended() {
        var trace = LaunchTrace()
        trace.note(ClientMessage(decoding: "BEGIN_LAUNCH_TASK=rows".utf8), at: Self.launchedAt + .milliseconds(500))
        trace.note(
            ClientMessage(decoding: "END_LAUNCH_TASK=rows\nUSEFUL=1".utf8),
            at: Self.launchedAt + .milliseconds(2_100), isReady: true)
        let text = LaunchPicture(
            name: "QuickPick", launchedAt: Self.launchedAt, after: .seconds(1), limit: .seconds(20), trace: trace,
            blockedPercent: nil, isUnicode: true
        ).text
        #expect(text.contains("tasks  rows "))
        #expect(text.contains("  useful after 2.10 s\n"))
        #expect(text.contains("0                                       2.10 s"))
    }

    @Test("has full names for the phases of the start, and a narrower chart for it", arguments: [true, false])
    func start(isUnicode: Bool) {
        var picture = picture(slow, isUnicode: isUnicode)
        picture.bars.append(
            LaunchPicture.Bar(
                label: "library constructors", lane: .start, start: .zero, end: .milliseconds(90), isOpen: false))
        let lines = picture.text.split(separator: "\n")
        let bar = String(repeating: isUnicode ? "▒" : "=", count: 2)
        let gap = String(repeating: " ", count: 42)
        #expect(lines[2] == "start  library constructors \(bar)\(gap)90 ms", "\(lines[2])")
        #expect(lines[3].hasPrefix("main   load interface       "), "\(lines[3])")
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    private static let killedText = """
        launch of QuickPick: killed after 20.00 s
                              0                                      20.00 s
        main   friends.json   ███████████████████                              8.10 s
               photos                            ███████████████████████████▸ 11.80 s
               photo 6                                                 █████▸  2.00 s
        tasks  rows                ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▸ 17.90 s
          limit  20 s    not ready before the end

        """

    private static let unicode = """
        launch of QuickPick: ready after 2.31 s, first frame after 2.10 s
                              0                                       2.31 s
        main   load interface   ████████████                                   600 ms
               wait for the …               ███████████████████████████        1.35 s
               drawn                                                    ◆
        beside JSON                         ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒          1.23 s
               photos                             ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▸  1.31 s
          goal   400 ms  first frame took 525 % of it, missed by 1.70 s
          advice 5 s     ready took 46 % of it, met
          limit  20 s    ready took 12 % of it, met
          main thread blocked for 87 % of the launch

        """

    private static let ascii = """
        launch of QuickPick: ready after 2.31 s, first frame after 2.10 s
                              0                                       2.31 s
        main   load interface   ############                                   600 ms
               wait for the ~               ###########################        1.35 s
               drawn                                                    *
        beside JSON                         =========================          1.23 s
               photos                             ==========================>  1.31 s
          goal   400 ms  first frame took 525 % of it, missed by 1.70 s
          advice 5 s     ready took 46 % of it, met
          limit  20 s    ready took 12 % of it, met
          main thread blocked for 87 % of the launch

        """
}
