// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogControl

@Suite("The text about an app that does not answer")
struct SilenceTextTests {
    private func silence(_ reason: Silence.Reason, for seconds: Int64 = 4) -> SilenceSummary {
        SilenceSummary(reason, since: Samples.ago(.seconds(seconds)))
    }

    private func app(_ reason: Silence.Reason, for seconds: Int64 = 4, _ name: String = "web") -> AppSummary {
        AppSummary(
            name: name, state: .running, isAnswering: false, silence: silence(reason, for: seconds),
            since: Samples.ago(.seconds(70)), pid: 7, uptime: .seconds(71), lastIncident: Samples.incident)
    }

    private func style(_ columns: Int?, isColored: Bool = false) -> ControlText.Style {
        ControlText.Style(isColored: isColored, columns: columns, time: LocalTime(now: Samples.now))
    }

    @Test(
        "the text names the missing sign of life, and its age",
        arguments: [
            (.probes(failed: 1, needed: 1), "not answering for 4 s (1 probe failed)"),
            (.probes(failed: 2, needed: 3), "not answering for 4 s (2 of 3 probes failed)"),
            (.probes(failed: 3, needed: 3), "not answering for 4 s (3 probes failed)"),
            (.ping, "not answering for 4 s (no answer to a ping)"),
            (.push(isOverdue: false), "not answering for 4 s (no WATCHDOG=1)"),
            (.held(.stopped), "stopped by a signal (4 s)"), (.held(.frozen), "frozen (4 s)"),
            (.held(.traced(by: 1)), "traced (4 s)"), (.held(.dumpingCore), "dumping core (4 s)"),
        ] as [(Silence.Reason, String)])
    func words(_ reason: Silence.Reason, _ expected: String) {
        let silence = silence(reason)
        #expect(silence.text(at: Samples.now) == expected)
        #expect(silence.shortText(at: Samples.now).count <= 20)
    }

    @Test("a list shows it in as many words as there is room for, and counts it")
    func list() {
        let reply = ListReply(apps: [app(.probes(failed: 2, needed: 3)), app(.held(.stopped), "worker"), Samples.bare])
        let narrow = ControlText.list(reply, style: style(79)).split(separator: "\n")
        #expect(narrow.allSatisfy { $0.count <= 79 })
        #expect(narrow[2].hasPrefix("web     not answering 4 s "))
        #expect(narrow[3].hasPrefix("worker  stopped (sig) 4 s "))
        #expect(narrow.last == "3 apps: 1 stopped, 1 not answering, 1 stopped by a signal")
        for columns in [120, nil] {
            let wide = ControlText.list(reply, style: style(columns)).split(separator: "\n")
            #expect(wide[2].hasPrefix("web     not answering for 4 s (2 of 3 probes failed)  "))
            #expect(wide[3].hasPrefix("worker  stopped by a signal (4 s)  "))
            #expect(wide[2].hasSuffix("did not answer, 2 h ago"))
        }
    }

    @Test("the text is red; a push that may still arrive in time is yellow")
    func colors() {
        func line(_ reason: Silence.Reason) -> Substring {
            ControlText.list(ListReply(apps: [app(reason)]), style: style(nil, isColored: true))
                .split(separator: "\n")[1]
        }
        for reason in [Silence.Reason.ping, .held(.stopped), .push(isOverdue: true), .probes(failed: 1, needed: 3)] {
            #expect(line(reason).contains("\u{1b}[1;31m"), "\(reason)")
        }
        #expect(line(.push(isOverdue: false)).contains("\u{1b}[33m"))
    }

    @Test("the status shows it before the state, with the last answer and the failed probes")
    func status() {
        var details = AppDetails(allowances: AllowanceSummary(Allowances()))
        details.probes = LatencySummary(count: 3, median: .milliseconds(2))
        (details.failedProbes, details.lastAnswer) = (2, Samples.ago(.seconds(7)))
        let reply = DescribeReply(app: app(.probes(failed: 2, needed: 3)), details: details)
        let text = ControlText.status(reply, style: style(200))
        #expect(text.contains("State: not answering for 4 s (2 of 3 probes failed); running since 2026-"))
        #expect(text.contains(" (1 min 10 s)\n"), "the state is as old as before")
        #expect(text.contains("Probes: 3; p50 2.00 ms; 2 failed\n"))
        #expect(text.contains("Last answer: ") && text.contains(" (7 s ago)\n"))
        let colored = ControlText.status(reply, style: style(79, isColored: true))
        #expect(colored.contains("\u{1b}[1;31mnot answering\u{1b}[0m for 4 s"))
    }

    @Test("unwatched apps are named below the list, and their status has a remedy")
    func unwatched() {
        func app(_ name: String, isWatched: Bool?) -> AppSummary {
            AppSummary(name: name, state: .running, isWatched: isWatched, since: Samples.now)
        }
        func note(_ apps: [AppSummary]) -> String? {
            ControlText.list(ListReply(apps: apps), style: style(200)).split(separator: "\n")
                .first { $0.hasPrefix("Nothing watches") }.map(String.init)
        }
        #expect(note([app("a", isWatched: true), app("b", isWatched: nil)]) == nil)
        #expect(
            note([app("a", isWatched: true), app("b", isWatched: false)])
                == "Nothing watches b for hangs; 'watchdogd status b' names the setting that would.")
        let many = note((0..<7).map { app("app\($0)", isWatched: false) })
        #expect(many?.hasPrefix("Nothing watches app0, app1, app2, app3, app4 and 2 more for hangs; ") == true)
        #expect(many?.hasSuffix("; 'watchdogd status APP' names the setting that would.") == true)
        var details = AppDetails(allowances: AllowanceSummary(Allowances()))
        details.probeAdvice = "Probe=tcp:127.0.0.1:7801"
        func status(_ isWatched: Bool?) -> String {
            let reply = DescribeReply(app: app("a", isWatched: isWatched), details: details)
            return ControlText.status(reply, style: style(200))
        }
        #expect(
            status(false).contains("Hangs: not watched: no probe, no answers to pings, no WATCHDOG=1; add Probe=tcp:"))
        #expect(!status(true).contains("not watched") && !status(nil).contains("not watched"))
        #expect(!ControlText.jsonLine(app("a", isWatched: false).outline).contains("isWatched"))
    }

    @Test("programs get it with its reason, even if they may see only states")
    func coding() throws {
        let app = app(.probes(failed: 2, needed: 3))
        for app in [app, app.outline] {
            let json = ControlText.jsonLine(app)
            #expect(json.contains(#""silence":{"failedProbes":2,"neededProbes":3,"reason":"probes","sinceUSec":"#))
            #expect(try JSONDecoder().decode(AppSummary.self, from: Data(json.utf8)) == app)
        }
        #expect(!ControlText.jsonLine(Samples.bare).contains("silence"))
        let unknown = SilenceSummary(reason: .init(rawValue: "asleep\u{1b}"), since: Samples.ago(.seconds(1)))
        #expect(unknown.text(at: Samples.now) == "not answering for 1 s (asleep\\x1b)")
    }
}
