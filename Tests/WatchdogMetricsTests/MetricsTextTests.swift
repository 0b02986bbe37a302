// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogVerdict

@testable import WatchdogMetrics

@Suite("The text of metrics", .reapsChildren)
struct MetricsTextTests {
    static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    /// Compares; `WATCHDOGD_UPDATE_GOLDENS=1` rewrites the file.
    private func check(_ text: String, golden name: String) throws {
        let path = "\(Self.root)/Tests/WatchdogMetricsTests/Goldens/\(name)"
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            try Data(text.utf8).write(to: URL(filePath: path))
        }
        let golden = try #require(try? String(contentsOfFile: path, encoding: .utf8), "\(name) is missing")
        #expect(text == golden, "\(name) differs; set WATCHDOGD_UPDATE_GOLDENS=1 to write it anew")
    }

    private static var daemon: DaemonReading {
        var daemon = DaemonReading(version: "1.2.3", started: .seconds(1_795_000_000))
        daemon.apps = 2
        daemon.longestTurn = .microseconds(350)
        daemon.loopLateness = FixedHistogram(bounds: [.microseconds(100), .milliseconds(10)])
        daemon.loopLateness.record(.microseconds(60))
        daemon.loopLateness.record(.milliseconds(3))
        daemon.failedReports = 1
        daemon.droppedEntries = 2
        return daemon
    }

    private static var busyApp: AppReading {
        var meter = AppMeter()
        meter.noticed(.launched(pid: 1))
        meter.noticed(
            .ready(.notify, after: .milliseconds(2_300)),
            phases: [.exec: .milliseconds(3), .ownConstructors: .milliseconds(400), .ready: .seconds(6)])
        meter.run(true, at: Instant(nanoseconds: 0))
        for milliseconds in [1, 2, 16, 17, 900] { meter.measured(.ping(.milliseconds(milliseconds))) }
        meter.measured(.probe(.milliseconds(4)))
        for _ in 0..<3 { meter.measured(.failedProbe) }
        meter.noticed(.hung(for: .milliseconds(900)))
        meter.reported(.blocked, fault: .app)
        meter.reported(.partlyRunning, fault: nil)
        meter.reloaded(in: .milliseconds(12))
        meter.ended(Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: true), isCausedByMemory: false)
        var app = AppReading(
            name: "photos", state: .running, meter: meter.counted(until: Instant(nanoseconds: 86_400_000_000_000)))
        (app.version, app.readiness, app.enforcement) = ("2.4.1", "notify", "kill")
        app.allowances = Allowances()
        app.started = .seconds(1_795_000_000)
        app.ready = .seconds(1_795_000_002) + .milliseconds(300)
        app.lastAnswer = .seconds(1_795_086_400)
        app.cpuTime = AppReading.CPUTime(user: .milliseconds(120_500), system: .microseconds(20_250_001))
        app.memory = 123_456_789
        (app.hasProbe, app.hasReload) = (true, true)
        app.isStoppedBySignal = true
        return app
    }

    private static func text(_ daemon: DaemonReading, _ apps: [AppReading]) -> String {
        String(decoding: MetricsText.render(daemon, apps), as: UTF8.self)
    }

    @Test("the golden has every series of a daemon with a busy app and one that has never run")
    func golden() throws {
        let text = Self.text(Self.daemon, [Self.busyApp, AppReading(name: "web", state: .stopped)])
        try check(text, golden: "metrics.prom")
    }

    @Test("a new app has the same series as a busy one, all of them 0, so that increases are visible")
    func zeros() {
        func series(_ app: AppReading) -> Set<String> {
            Set(
                Self.text(Self.daemon, [app]).split(separator: "\n").filter {
                    $0.contains("app=") && !$0.contains("_info{")
                }
                .map { String($0.prefix { $0 != " " }) })
        }
        var fresh = AppReading(name: "photos", state: .launching)
        (fresh.hasProbe, fresh.hasReload, fresh.allowances) = (true, true, Allowances())
        var busy = Self.busyApp
        // The kernel's counters are not 0 but unknown before there is a process.
        (busy.cpuTime, busy.memory) = (nil, nil)
        #expect(series(fresh) == series(busy))
        let lines = Self.text(Self.daemon, [fresh]).split(separator: "\n")
        let counters = lines.filter { $0.contains("_total{app=") || $0.contains("_bucket{app=") }
        #expect(counters.count > 60 && counters.allSatisfy { $0.hasSuffix(" 0") })
    }

    @Test("names and versions with any bytes stay within their label")
    func hostileNames() throws {
        var app = AppReading(name: "a\"} 1\nwatchdogd_app_launches_total{app=\"b", state: .failed)
        app.version = "\\\"\r\u{2028}é\u{1b}[31m"
        app.readiness = "\\n"
        let text = Self.text(Self.daemon, [app])
        try check(text, golden: "hostile.prom")
        let families = Self.text(Self.daemon, [AppReading(name: "a", state: .failed)]).split(separator: "\n").count
        #expect(text.utf8.split(separator: UInt8(ascii: "\n")).count == families)
    }

    @Test("one app more than the limit leaves only sums; at the limit there are none")
    func limit() throws {
        var apps = (0..<MetricsText.mostApps).map { AppReading(name: "app\($0)", state: .running) }
        for index in 0..<7 { apps[index].isAnswering = true }
        let single = Self.text(Self.daemon, apps)
        #expect(single.contains("watchdogd_app_launches_total{app=\"app999\"} 0\n"))
        #expect(!single.contains("watchdogd_app_launches_total 0\n"))
        apps.append(Self.busyApp)
        let summed = Self.text(Self.daemon, apps)
        #expect(!summed.contains("app="))
        try check(summed, golden: "sums.prom")
    }

    @Test(
        "the page names every family; rules and dashboard name no other", arguments: ["docs/metrics.md", "packaging"])
    func documents(_ document: String) throws {
        let text = Self.text(Self.daemon, [Self.busyApp])
        let families = Set(text.matches(of: #/(?m)^# TYPE (\S+)/#).map { String($0.output.1) })
        func names(_ path: String) throws -> Set<String> {
            let text = try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)
            let names = text.matches(of: #/(^|[^:.\w])(watchdogd_[a-z_]+)/#).map { String($0.output.2) }
            return Set(
                names.map { name in
                    let suffix = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
                    let family = String(name.dropLast(suffix?.count ?? 0))
                    return families.contains(family) ? family : name
                })
        }
        if document == "docs/metrics.md" {
            #expect(try names(document) == families)
        } else {
            for file in ["rules.yml", "rules_test.yml", "dashboard.json"] {
                #expect(try names("packaging/prometheus/\(file)").subtracting(families) == [], "\(file)")
            }
        }
    }

    @Test(
        "promtool reports no problem", .enabled(if: program != nil, "needs promtool (Debian: prometheus)"))
    func lint() throws {
        let program = try #require(Self.program)
        for name in ["metrics.prom", "hostile.prom", "sums.prom"] {
            let file = open("\(Self.root)/Tests/WatchdogMetricsTests/Goldens/\(name)", O_RDONLY | O_CLOEXEC)
            try #require(file >= 0)
            defer { close(file) }
            #expect(try Self.run([program, "check", "metrics"], input: file) == 0, "\(name)")
        }
    }

    static let program = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first { (path: String) in
        access(path, X_OK) == 0
    }

    private static func run(_ command: [String], input: Int32) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        let program: String = command[0]
        try #require(posix_spawn(&pid, program, &actions, nil, &arguments, environ) == 0)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }
}
