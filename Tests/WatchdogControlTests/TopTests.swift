// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogControl

@Suite("watchdogd top")
struct TopTests {
    private static let now = Timestamp(microseconds: 1_700_000_000_000_000)

    private var style: ControlText.Style {
        ControlText.Style(time: LocalTime(now: Self.now))
    }

    private func app(
        _ name: String, _ state: AppState = .running, ping: Duration? = nil, cpu: Double? = nil,
        memory: UInt64? = nil, report: String? = nil
    ) -> TopApp {
        var summary = AppSummary(name: name, state: state, since: Self.now, uptime: .seconds(3_700))
        if let report {
            summary.lastIncident = IncidentSummary(
                kind: .watchdog, time: Timestamp(microseconds: Self.now.microseconds - 4_000_000), summary: "killed",
                event: "scene-update", verdict: "Main thread blocked", report: report)
        }
        return TopApp(summary, ping: ping, cpu: cpu, memory: memory, tasks: 3)
    }

    private func names(_ screen: TopScreen) -> [String] { screen.visible.map(\.summary.name) }

    @Test("80 columns show every figure, and wide ones the verdict")
    func table() {
        var screen = TopScreen()
        let apps = [
            app("web", ping: .microseconds(900), cpu: 0.034, memory: 35 << 20),
            app("postgres-primary@main", .waiting, cpu: 1.5, memory: 11 << 30, report: "/r/1.ips"),
        ]
        for ping in [Duration.microseconds(100), .microseconds(450)] {
            screen.update([app("web", ping: ping)])
        }
        screen.update(apps)
        let narrow = screen.lines(columns: 79, rows: nil, style: style, isUnicode: true)
        #expect(
            narrow == [
                "APP*         STATE       UPTIME  CPU%    MEM  PING99 LAST INCIDENT",
                "postg...main waiting        1 h   150  11.0G       - 4 s ago: blocked (did n...",
                "web          running        1 h   3.4    35M  900 µs -",
                "",
                "2 apps: 1 waiting, 1 running",
            ])
        let wide = screen.lines(columns: 159, rows: nil, style: style, isUnicode: false)
        #expect(wide[1].contains("postgres-primary@main"))
        #expect(wide[1].hasSuffix(" 4 s ago: blocked (did not answer)"))
        #expect(wide[2].contains("     .=#"))
    }

    @Test("Without a terminal, nothing is cut")
    func noTerminal() {
        let name = String(repeating: "replica-", count: 8)
        var long = app(name, report: "/r/1.ips")
        let verdict = "Main thread waits for " + String(repeating: "data and ", count: 40) + "more"
        long.summary.lastIncident?.verdict = verdict
        var screen = TopScreen()
        screen.update([long, app("web")])
        let lines = screen.lines(columns: .max, rows: nil, style: style, isUnicode: true)
        #expect(lines[1].hasPrefix(name + " running "))
        #expect(lines[1].hasSuffix(" 4 s ago: \(verdict.dropFirst("Main thread ".count)) (did not answer)"))
    }

    @Test("Without incidents, 80 columns fit every figure; names and states take the width that they need")
    func room() {
        var screen = TopScreen()
        for ping in [Duration.microseconds(100), .microseconds(450)] { screen.update([app("api", ping: ping)]) }
        screen.update([app("api", ping: .microseconds(900), cpu: 0.034, memory: 35 << 20)])
        #expect(
            screen.lines(columns: 79, rows: nil, style: style, isUnicode: true) == [
                "APP* STATE       UPTIME  CPU%    MEM TASKS  PING99 TREND    LAST INCIDENT",
                "api  running        1 h   3.4    35M     3  900 µs      ▁▄█ -", "", "1 app: 1 running",
            ])
    }

    @Test("An app that does not answer is marked, in as many words as there is room for", arguments: [79, 119, 199])
    func silence(columns: Int) {
        var hung = app("api", report: "/r/1.ips")
        hung.summary.silence = SilenceSummary(
            .probes(failed: 2, needed: 3), since: Timestamp(microseconds: Self.now.microseconds - 4_200_000))
        var screen = TopScreen()
        screen.update([hung, app("web")])
        let lines = screen.lines(columns: columns, rows: nil, style: style, isUnicode: true)
        #expect(lines.allSatisfy { $0.count <= columns })
        #expect(
            lines[1].contains(columns < 199 ? " not answering 4 s " : " not answering for 4 s (2 of 3 probes failed) "))
        #expect(lines[1].contains(" 4 s ago: blocked"))
        #expect(lines.last == "2 apps: 1 running, 1 not answering")
        let colored = screen.lines(
            columns: columns, rows: nil, style: .init(isColored: true, time: style.time), isUnicode: true)
        #expect(colored[1].contains("\u{1b}[1;31mnot answering"))
    }

    @Test("An app that is pinged less often than it is polled keeps its latest answer; a silent one has none")
    func rarePings() {
        var screen = TopScreen()
        screen.update([app("api", ping: .milliseconds(2))])
        screen.update([app("api")])
        #expect(screen.apps[0].ping == .milliseconds(2))
        var hung = app("api")
        hung.summary.silence = SilenceSummary(.ping, since: Self.now)
        screen.update([hung])
        #expect(screen.apps[0].ping == nil)
        screen.update([app("api")])
        #expect(screen.apps[0].ping == nil, "nothing was answered since")
    }

    @Test(
        "A terminal's lines fill its height, none is too wide, and the selected one stays visible",
        arguments: [5, 24])
    func height(rows: Int) throws {
        var screen = TopScreen()
        screen.update((0..<100).map { app("app\($0)") })
        for _ in 0..<60 { _ = screen.press(.down) }
        let lines = screen.lines(columns: 79, rows: rows, style: style, isUnicode: true)
        #expect(lines.count == rows)
        #expect(lines.allSatisfy { $0.count <= 79 })
        let selected = try #require(names(screen).dropFirst(59).first)
        #expect(lines.contains { $0.hasPrefix(selected + " ") })
    }

    @Test("Keys sort; unknown values come last, and equal ones are sorted by name")
    func order() {
        var screen = TopScreen()
        screen.update([
            app("a", cpu: 0.1), app("b", ping: .seconds(1), cpu: 0.9), app("c", memory: 5, report: "/r/1.ips"),
            app("d", cpu: 0.1),
        ])
        #expect(names(screen) == ["a", "b", "c", "d"])
        for (key, expected) in [
            ("c", ["b", "a", "d", "c"]), ("m", ["c", "a", "b", "d"]), ("p", ["b", "a", "c", "d"]),
            ("i", ["c", "a", "b", "d"]), ("n", ["a", "b", "c", "d"]),
        ] {
            #expect(screen.press(.character(Character(key))) == nil)
            #expect(names(screen) == expected, "\(key)")
        }
    }

    @Test("A filter is typed, kept by Enter, and dropped by Escape; then Escape quits")
    func filter() {
        var screen = TopScreen()
        screen.update([app("web"), app("web2"), app("db")])
        for key in [TopKey.character("/"), .character("w"), .character("q"), .backspace, .character("e"), .enter] {
            #expect(screen.press(key) == nil)
        }
        #expect(names(screen) == ["web", "web2"])
        #expect(screen.press(.escape) == nil)
        #expect(names(screen) == ["db", "web", "web2"])
        #expect(screen.press(.escape) == .quit)
        #expect(screen.press(.character("q")) == .quit)
        _ = screen.press(.character("/"))
        #expect(screen.press(.interrupt) == .quit)
    }

    @Test("Enter opens the crash log of the selected app, and gives the reason if there is none")
    func opening() {
        var screen = TopScreen()
        screen.update([app("a"), app("b", report: "/r/b.ips")])
        func footer() -> String? { screen.lines(columns: 79, rows: 10, style: style, isUnicode: true).last }
        #expect(screen.press(.enter) == nil)
        #expect(footer() == "select an app with the arrow keys first")
        _ = screen.press(.down)
        #expect(screen.press(.enter) == nil)
        #expect(footer() == "a has no crash log")
        _ = screen.press(.character("j"))
        #expect(screen.press(.enter) == .open(report: "/r/b.ips"))
        // It disappears with the app.
        screen.update([app("a")])
        #expect(screen.press(.enter) == nil)
    }

    @Test("A hostile app's name cannot control the terminal")
    func hostileNames() {
        var screen = TopScreen()
        screen.update([app("x\u{1b}[2J\n")])
        let lines = screen.lines(columns: 79, rows: 10, style: style, isUnicode: true)
        #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test("Keys are decoded as terminals send them; unknown sequences are dropped completely")
    func keys() {
        #expect(
            TopKey.keys(in: Array("q\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[6~\r\u{7f}/".utf8))
                == [.character("q"), .up, .down, .pageUp, .pageDown, .enter, .backspace, .character("/")])
        #expect(TopKey.keys(in: [0x1b]) == [.escape])
        #expect(TopKey.keys(in: [0x03, 0x1a]) == [.interrupt])
        #expect(TopKey.keys(in: Array("\u{1b}[1;5Cx\u{1b}[".utf8)) == [.character("x")])
        #expect(TopKey.keys(in: [0xff, 0x01, 0xc3, 0xa4]) == [])
    }

    @Test("The ping column shows the answers since the previous reading")
    func pings() {
        func text(_ counts: [Int]) -> [String] {
            let limits = ["0.001", "0.01", "+Inf"]
            let lines = zip(limits, counts).map {
                "watchdogd_app_ping_duration_seconds_bucket{app=\"web\",le=\"\($0)\"} \($1)"
            }
            return ["# TYPE x histogram\n" + lines.joined(separator: "\n") + "\nnonsense{app=\"web\"} 1\n"]
        }
        let before = AnswerBuckets(text([1_000, 1_000, 1_000]))
        // 99 of 100 within 1 ms, then 98.
        #expect(AnswerBuckets(text([1_099, 1_100, 1_100])).percentile99(of: "web", since: before) == .milliseconds(1))
        #expect(AnswerBuckets(text([1_098, 1_100, 1_100])).percentile99(of: "web", since: before) == .milliseconds(10))
        #expect(before.percentile99(of: "web", since: before) == nil)
        #expect(before.percentile99(of: "other", since: before) == nil)
        // Longer than the last limit, and a daemon that was restarted.
        #expect(AnswerBuckets(text([1_000, 1_000, 1_100])).percentile99(of: "web", since: before) == nil)
        #expect(AnswerBuckets(text([5, 5, 5])).percentile99(of: "web", since: before) == .milliseconds(1))
    }

    @Test("Probes fill the ping column of an app that has never answered a ping")
    func probes() {
        func text(pings: Int, probes: Int) -> AnswerBuckets {
            let lines = [("ping", "0.001", pings), ("probe", "0.05", probes)].flatMap { name, limit, count in
                [limit, "+Inf"].map {
                    "watchdogd_app_\(name)_duration_seconds_bucket{app=\"web\",le=\"\($0)\"} \(count)\n"
                }
            }
            return AnswerBuckets([lines.joined()])
        }
        let before = text(pings: 0, probes: 7)
        #expect(text(pings: 0, probes: 8).percentile99(of: "web", since: before) == .milliseconds(50))
        #expect(text(pings: 1, probes: 8).percentile99(of: "web", since: before) == .milliseconds(1))
        // Its main loop hangs while its port still answers.
        let answered = text(pings: 1, probes: 8)
        #expect(text(pings: 1, probes: 9).percentile99(of: "web", since: answered) == nil)
    }

    @Test("Any numbers in the metrics text are read or skipped")
    func oddPings() {
        func percentile(_ buckets: (limit: String, count: String)...) -> Duration? {
            let lines = buckets.map {
                "watchdogd_app_ping_duration_seconds_bucket{app=\"web\",le=\"\($0.limit)\"} \($0.count)\n"
            }
            return AnswerBuckets([lines.joined()]).percentile99(of: "web", since: AnswerBuckets([]))
        }
        let most = String(UInt64.max)
        #expect(percentile(("0.25", "1"), ("0.5", most), ("+Inf", most)) == .milliseconds(500))
        #expect(percentile(("-1e300", "9"), ("nan", "9"), ("0.5", "9"), ("+Inf", "9")) == .milliseconds(500))
        #expect(percentile(("1e300", "9"), ("+Inf", "9")) == nil)
        #expect(percentile(("0.5", "-9"), ("0.5", "1e3"), ("0.5", "")) == nil)
    }
}
