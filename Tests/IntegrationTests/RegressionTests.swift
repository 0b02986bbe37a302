// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogControl

extension EndToEnd {
    @Suite("New versions that launch more slowly")
    struct RegressionTests {
        /// Adds a past to an app that was launched once.
        ///
        /// A different version was launched on eight days, then its own, which needs `factor` times the CPU time. Its
        /// own also has a launch a minute ago: later launches belong to that period, which has not ended.
        private static let past = """
            import sqlite3, sys, time
            path, name, factor = sys.argv[1], sys.argv[2], float(sys.argv[3])
            history = sqlite3.connect(path)
            app, version, host = history.execute(
                "SELECT app, version, host FROM launch WHERE outcome = 'ready' AND app = (SELECT id FROM app WHERE name = ?)",
                [name]).fetchone()
            history.execute("DELETE FROM launch WHERE app = ?", [app])
            former = history.execute(
                "INSERT INTO version (app, build_id, package, package_version, first_time) VALUES (?, 'former', '', '', 0)",
                [app]).lastrowid
            now = int(time.time() * 1e6)
            day = 86400 * 10**6
            launches = [(former, now - (30 - i) * day, 10**6 + i) for i in range(8)]
            launches += [(version, now - (15 - i) * day, round(10**6 * factor) + i) for i in range(8)]
            launches += [(version, now - 60 * 10**6, 10**6)]
            history.executemany(
                "INSERT INTO launch (app, time, kind, outcome, cause, temperature, version, host, ready, cpu_time)"
                " VALUES (?, ?, 'launch', 'ready', 'start', 'warm', ?, ?, 1000000, ?)",
                [(app, at, of, host, cost) for of, at, cost in launches])
            history.commit()
            """

        /// The lines of `watchdogd events` about an app that contain a text.
        private func events(_ text: String, of app: String, _ service: Service) throws -> [Substring] {
            let answer = try service.command("events", "--no-follow", "--json", app)
            guard answer.code == 0 else { throw Failure(answer.errors) }
            return answer.output.split(separator: "\n").filter { $0.contains(text) }
        }

        @Test("A version that needs 10 % more CPU time raises launchRegressed; one that needs a little less does not")
        func launchRegressed() throws {
            let app = "[App]\nExecStart=\(quoted(product("HealthyApp")))\nStandardOutput=null\n"
            let apps = ["under": app, "over": app + "Enabled=no\n"]
            let first = try Service(apps)
            #expect(try first.command("launch", "over").code == 0)
            for name in apps.keys { try first.wait(for: name) { $0.state == .running } }
            #expect(try first.end() == 0)
            for (name, factor) in [("under", "1.099"), ("over", "1.101")] {
                let python = try Program(
                    ["/usr/bin/python3", "-c", Self.past, first.scratch["history.db"], name, factor])
                #expect(try python.end().code == 0, "\(python.text(.errors))")
            }

            let second = try Service(apps, scratch: first.scratch)
            try second.wait(for: "under") { $0.state == .running }
            #expect(try second.command("launch", "over").code == 0)
            let line = try second.program.line("over launches ", on: .errors)
            #expect(line.contains("over launches 10 % more slowly since version "), "\(line)")
            #expect(line.hasSuffix(": CPU time 1.1 s, with former 1 s"), "\(line)")
            let over = try events(#""kind":"launchRegressed""#, of: "over", second)
            #expect(over.count == 1)
            #expect(over.first?.contains("launches 10 % more slowly since version ") == true, "\(over)")
            // It was launched first, and the history compares launches in order.
            #expect(try events(#""kind":"ready""#, of: "under", second).count == 1)
            #expect(try events(#""kind":"launchRegressed""#, of: "under", second) == [])

            // Once for each version.
            #expect(try second.command("restart", "over").code == 0)
            #expect(try second.end() == 0)
            #expect(!second.program.text(.errors).contains("under launches "))
            let third = try Service(apps, scratch: first.scratch)
            #expect(try third.command("launch", "over").code == 0)
            #expect(try third.end() == 0)
            #expect(!third.program.text(.errors).contains(" more slowly "))

            let launches = try Program(
                [product("watchdogd"), "launches", "over", "--by", "version", "--history", first.scratch["history.db"]])
            #expect(try launches.end().code == 0)
            #expect(launches.text(.output).contains("former"), "\(launches.text(.output))")
        }
    }
}
