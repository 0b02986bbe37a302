// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogControl

@Suite("Text")
struct TextTests {
    private let plain = ControlText.Style(time: LocalTime(now: Samples.now))
    private let colored = ControlText.Style(
        isColored: true, time: LocalTime(now: Samples.now) { _ in LocalZone(utcOffset: 3_600) })

    private func golden(_ text: String, _ name: String) throws {
        try Golden.compare(text, with: "Tests/WatchdogControlTests/Goldens/\(name)")
    }

    /// Without color codes.
    private func bare(_ text: String) -> String {
        text.replacing(#/\u{1b}\[[0-9;]*m/#, with: "")
    }

    private func expectFits(_ text: String) {
        for line in bare(text).split(separator: "\n") where line.contains(" ") {
            // A path alone on its line is not cut.
            let word = line.drop { $0 == " " }
            #expect(line.count <= 79 || !word.contains(" "), "\(line)")
        }
        for scalar in bare(text).unicodeScalars { #expect(scalar == "\n" || scalar.value >= 0x20) }
    }

    @Test("an app's reload is printed with its time, and not at all if nobody waited for it")
    func appReload() {
        #expect(
            ControlText.reload(ReloadAppReply(duration: .milliseconds(12)), of: "web\u{1b}")
                == "web\\x1b reloaded within 12 ms\n")
        #expect(ControlText.reload(ReloadAppReply(), of: "web") == "")
    }

    @Test("a list shows every app")
    func list() throws {
        let text = ControlText.list(Samples.list, style: plain)
        expectFits(text)
        try golden(text, "list.txt")
        let inColor = ControlText.list(Samples.list, style: colored)
        #expect(bare(inColor) == text)
        try golden(inColor.replacing("\u{1b}", with: "ESC"), "list-colored.txt")
    }

    @Test("a list shortens the incident first, then names; without a terminal it is complete")
    func width() throws {
        func app(_ name: String) -> AppSummary {
            AppSummary(
                name: name, state: .running, since: Samples.now, pid: 7, uptime: .seconds(5),
                lastIncident: Samples.incident)
        }
        func list(_ name: String, columns: Int?) -> Substring {
            let style = ControlText.Style(columns: columns, time: LocalTime(now: Samples.now))
            return ControlText.list(ListReply(apps: [app(name)]), style: style).split(separator: "\n")[1]
        }
        let long = "proj.team.service-that-answers-1"
        let end = "  running    7     5 s         0  "
        #expect(list(long, columns: 79) == "\(long)\(end)did not an...")
        #expect(list(long, columns: 70) == "proj.team....-answers-1\(end)did not an...")
        #expect(list("proj.team.service-1", columns: 70) == "proj.team.service-1\(end)did not answer...")
        #expect(list(long, columns: nil) == "\(long)\(end)did not answer, 2 h ago")
        #expect(list(long, columns: 100) == "\(long)\(end)did not answer, 2 h ago")
        #expect(list(long, columns: 40) == "proj....rs-1\(end)...")
    }

    @Test("a reload says which apps it restarts")
    func restarted() {
        var reply = ReloadReply(changed: ["api", "web"], unchanged: 3)
        #expect(ControlText.reload(reply) == "changed: api web\nunchanged: 3\n")
        reply.restarted = ["web"]
        #expect(ControlText.reload(reply) == "changed: api web\nrestarting: web\nunchanged: 3\n")
    }

    @Test("the status has a lifecycle only if the state does not say it")
    func lifecycle() {
        func status(_ state: AppState, _ lifecycle: String) -> String {
            let details = AppDetails(allowances: AllowanceSummary(Allowances()), lifecycle: lifecycle)
            let app = AppSummary(name: "web", state: state, since: Samples.now)
            return ControlText.status(DescribeReply(app: app, details: details), style: plain)
        }
        #expect(status(.running, "suspended").contains("Lifecycle: suspended\n"))
        #expect(!status(.running, "foreground").contains("Lifecycle"))
        #expect(!status(.launching, "launching").contains("Lifecycle"))
    }

    @Test("the daemon's own status is printed")
    func daemon() {
        let reply = DaemonReply(
            version: "1.2", pid: 7, apps: 3, reports: "/r", longestTurn: Microseconds(count: 4_200),
            recentTurn: Microseconds(count: 310))
        #expect(
            ControlText.status(reply)
                == """
                watchdogd 1.2
                        PID: 7
                       Apps: 3
                    Reports: /r
                       Loop: longest iteration 4.20 ms; in the last minute 310 µs

                """)
    }

    @Test("empty lists are printed")
    func emptyLists() {
        #expect(ControlText.list(ListReply(apps: []), style: plain) == "0 apps\n")
        let bad = InvalidFile(
            name: "a", file: "/a.app", diagnostics: [ControlDiagnostic(.error, file: "/a.app", message: "empty")])
        #expect(
            ControlText.list(ListReply(apps: [], invalidFiles: [bad]), style: plain)
                == """
                APP  STATE    PID  UPTIME  RESTARTS  LAST INCIDENT
                a    invalid    -       -         -  -

                /a.app: error: empty

                0 apps; 1 invalid file

                """)
        let nobodys = InvalidFile(name: "", file: "/.app", diagnostics: bad.diagnostics)
        let running = AppSummary(name: "a", state: .running, since: Samples.now)
        let text = ControlText.list(ListReply(apps: [running], invalidFiles: [bad, nobodys]), style: plain)
        #expect(text.contains("running") && !text.contains("  invalid "), "an app that runs on keeps its row")
    }

    @Test("a ping has one line, whatever the app's name or state")
    func ping() {
        func text(_ state: AppState, _ isAnswering: Bool? = nil, name: String = "web") -> String {
            ControlText.ping(AppSummary(name: name, state: state, isAnswering: isAnswering, since: Samples.now))
        }
        #expect(text(.running, true) == "web is ready and answers")
        #expect(text(.running, false) == "web is ready, but does not answer")
        let unwatched = AppSummary(
            name: "web", state: .running, isAnswering: true, isWatched: false, since: Samples.now)
        #expect(ControlText.ping(unwatched) == "web is ready; nothing watches whether it answers")
        let silent = AppSummary(
            name: "web", state: .running, isAnswering: false,
            silence: SilenceSummary(.held(.stopped), since: Samples.ago(.seconds(5))), since: Samples.now)
        #expect(ControlText.ping(silent, style: plain) == "web is ready, but stopped by a signal (5 s)")
        #expect(text(.launching) == "web is not ready yet: launching")
        #expect(text(.failed) == "web is not ready: failed")
        #expect(text(.running) == "web is ready; this watchdogd does not say whether it answers")
        #expect(!text(AppState(rawValue: "\u{1b}[2J"), name: "a\nb").contains { $0.isNewline || $0 == "\u{1b}" })
    }

    @Test("a list of 1,000 apps has a line for each, and fits")
    func longList() {
        let apps = (0..<1000).map { index in
            AppSummary(
                name: "app-\(index)", state: index % 50 == 0 ? .waiting : .running, since: Samples.now,
                pid: Int32(index),
                uptime: .seconds(index * 1000), restarts: index * index)
        }
        let text = ControlText.list(ListReply(apps: apps), style: plain)
        expectFits(text)
        #expect(text.split(separator: "\n").count == 1002)
        #expect(text.hasSuffix("\n\n1000 apps: 20 waiting, 980 running\n"))
    }

    @Test("the status shows an app with every field, and one with almost none")
    func status() throws {
        let full = ControlText.status(Samples.description, style: plain)
        expectFits(full)
        try golden(full, "status.txt")
        try golden(
            ControlText.status(Samples.description, style: colored).replacing("\u{1b}", with: "ESC"),
            "status-colored.txt")
        let bare = ControlText.status(Samples.bareDescription, style: plain)
        expectFits(bare)
        try golden(bare, "status-bare.txt")
        var waiting = Samples.bareDescription
        waiting.app = Samples.list.apps[0]
        waiting.app.name = "waiting"
        waiting.isLogWithheld = false
        try golden(ControlText.status(waiting, style: plain), "status-waiting.txt")
    }

    @Test("launch phases are printed if they add to the line above, even those of a later watchdogd")
    func phases() {
        func status(_ phases: [LaunchPhaseSummary]?) -> String {
            var description = Samples.description
            description.details?.launch?.phases = phases
            return ControlText.status(description, style: plain)
        }
        let ends = [LaunchPhaseSummary(.exec, .milliseconds(1)), LaunchPhaseSummary(.ready, .seconds(1))]
        for phases in [nil, [], ends] {
            #expect(!status(phases).contains("Phases:"))
        }
        var later = LaunchPhaseSummary(.ready, .milliseconds(2))
        later.name = "later\u{1b}"
        let text = status([LaunchPhaseSummary(.relocation, .milliseconds(1)), later])
        #expect(text.contains("     Phases: relocate 1.00 ms, later\\x1b 2.00 ms\n"))
    }

    @Test("outlines have names and states, and why there is no more")
    func outlines() throws {
        let list = ControlText.list(Samples.outline, style: plain)
        expectFits(list)
        try golden(list, "list-outline.txt")
        let status = ControlText.status(Samples.outlineDescription, style: plain)
        expectFits(status)
        try golden(status, "status-outline.txt")
    }

    @Test("an app that failed too often shows the limit that was reached, and how to continue")
    func failed() throws {
        let text = ControlText.status(Samples.failedDescription, style: plain)
        expectFits(text)
        try golden(text, "status-failed.txt")
    }

    @Test("events are printed as they arrive")
    func events() throws {
        let events = [
            MonitorReply(),
            MonitorReply(
                event: ControlEvent(
                    .launched, app: "web", message: "launched", time: Samples.ago(.seconds(7_500)), pid: 4700)),
            MonitorReply(event: Samples.event),
            MonitorReply(isWithheld: true), MonitorReply(missed: 1), MonitorReply(missed: 250),
            MonitorReply(
                event: ControlEvent(
                    .credited, app: "web",
                    message:
                        "waited 2.10 s for a CPU; its update allowance is extended by as much, which is told at some length",
                    time: Samples.ago(.seconds(3)))),
            MonitorReply(
                event: ControlEvent(.reloaded, message: "2 apps added\u{1b}]0;title\u{7}", time: Samples.now)),
        ]
        let text = events.map { ControlText.event($0, style: plain) }.joined()
        expectFits(text)
        try golden(text, "events.txt")
    }

    @Test("the JSON of a reply can be read back")
    func json() throws {
        try golden(ControlText.json(Samples.description), "status.json")
        let line = ControlText.jsonLine(MonitorReply(event: Samples.event))
        #expect(line.split(separator: "\n", omittingEmptySubsequences: false).count == 2)
        #expect(line.hasPrefix(#"{"event":{"app":"web","#))
    }

    @Test("durations and distances are printed in their largest units")
    func durations() {
        let rough: [(Int, String)] = [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3_600, "1 h"), (3_605, "1 h"),
            (7_385, "2 h 3 min"), (86_400, "1 d"), (90_000, "1 d 1 h"), (86_460, "1 d"),
        ]
        for (seconds, text) in rough { #expect(Duration.seconds(seconds).rough == text) }
        #expect(Duration.seconds(-5).rough == "0 s")
        let measured: [(Duration, String)] = [
            (.zero, "0 µs"), (.microseconds(999), "999 µs"), (.microseconds(2_346), "2.35 ms"),
            (.microseconds(9_999), "10 ms"), (.milliseconds(312), "312 ms"), (.milliseconds(999), "999 ms"),
            (.microseconds(999_600), "1.00 s"), (.seconds(20), "20.00 s"), (.seconds(125), "2 min 5 s"),
        ]
        for (duration, text) in measured { #expect(duration.brief == text) }
        let time = LocalTime(now: Samples.now)
        #expect(time.distance(Samples.now) == "0 s ago")
        #expect(time.distance(Samples.ago(.seconds(-90))) == "in 1 min")
        #expect(time.distance(Samples.ago(.seconds(90_000))) == "1 d ago")
    }

    @Test("times use the local clock, even before 1970 and at the extremes")
    func times() {
        let berlin = LocalTime(now: Samples.now) { _ in LocalZone(utcOffset: 3_600, abbreviation: "CET") }
        #expect(berlin.date(Samples.now) == "2026-11-21 02:43:17 CET")
        let style = ControlText.Style(columns: nil, time: berlin)
        let line = LogLine(time: Samples.now, text: "listening\ton :8080")
        #expect(ControlText.log([line], style: style) == "2026-11-21 02:43:17 CET listening    on :8080\n")
        let event = ControlEvent(.ready, app: "web", message: "ready", time: Samples.now, pid: 7)
        #expect(ControlText.event(event, style: style) == "2026-11-21 02:43:17 CET web[7]: ready\n")
        #expect(LocalTime(now: Samples.now).date(Timestamp(microseconds: -1)) == "1969-12-31 23:59:59 UTC")
        for extreme in [Int64.min, .max] {
            #expect(!LocalTime.current().date(Timestamp(microseconds: extreme)).isEmpty)
        }
    }

    @Test("lines break at spaces, never within a word")
    func wrapping() {
        let long = String(repeating: "x", count: 100)
        #expect(ControlText.wrap("a \(long) b", indent: 2, plain) == "a\n  \(long)\n  b\n")
        #expect(ControlText.wrap("  \(long)", indent: 2, plain) == "  \(long)\n")
        #expect(ControlText.wrap("", indent: 2, plain) == "\n")
        #expect(ControlText.wrap("a  b", indent: 2, plain) == "a  b\n")
        let words = Array(repeating: "word", count: 20).joined(separator: " ")
        func lines(_ columns: Int?) -> [Int] {
            let style = ControlText.Style(columns: columns, time: LocalTime(now: Samples.now))
            return ControlText.wrap(words, indent: 2, style).split(separator: "\n").map(\.count)
        }
        #expect(lines(120) == [99], "a wide terminal is used")
        #expect(lines(nil) == lines(79) && lines(79) == [79, 21], "without a terminal, as wide as a usual one")
    }
}
