// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogControl
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

extension EndToEnd {
    @Suite("Many apps that hang at once", .enabled(if: isInstalled("cc"), "there is no C compiler"))
    struct ManyHangTests {
        private static let count = 50

        private func compiled(in scratch: Scratch) throws -> String {
            let path = scratch["database"]
            let compiler = try Program(["cc", "-O1", "-g", "-o", path, "\(subjects)/database.c"])
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            return path
        }

        @Test("fifty apps that wait for one database are killed, and their reports have stacks and name that database")
        func database() throws {
            let scratch = try Scratch()
            let program = try compiled(in: scratch)
            let database = try Program([program, "serve"])
            let port = try database.line()
            let names = (1...Self.count).map { "web\($0)" }
            let text = """
                [App]
                ExecStart=\(program) query \(port)
                StandardOutput=null
                [Watchdog]
                Readiness=notify
                Update=5s
                [Restart]
                Policy=never
                """
            let service = try Service(
                Dictionary(uniqueKeysWithValues: names.map { ($0, text) }), options: [], scratch: scratch)
            for name in names { try service.wait(for: name) { $0.state == .running } }
            try database.send(SIGUSR1)
            let store = ReportStore(directory: scratch["reports"])
            // Each report is a separate event: all of them together may take long on a busy machine.
            for number in 1...Self.count {
                try #require(eventually { (try? store.list().count) ?? 0 >= number }, "no report \(number)")
            }
            let reports = try store.list().map { try store.read($0) }
            #expect(Set(reports.map(\.metadata.appName)) == Set(names))
            var causes: Set<String> = []
            for report in reports {
                let name = report.metadata.appName
                let linux = try #require(report.body.linux)
                #expect(linux.kill.outcome == "verified", "\(name)")
                let calls = report.body.threads.first?.frames.compactMap(\.symbol) ?? []
                #expect(calls.contains("fetch_row") && calls.contains("main"), "\(name): \(calls) \(linux.notes)")
                #expect(linux.trail?.root == Int(database.pid), "\(name): \(linux.notes)")
                let lines = report.body.applicationSpecificInformation?["watchdogd"] ?? []
                let cause = lines.first { $0.hasPrefix("Cause: \(name) ") } ?? "none"
                causes.insert(String(cause.dropFirst("Cause: \(name)".count)))
            }
            let root = " waits for a reply of database (pid \(database.pid)), which sleeps"
            #expect(causes.allSatisfy { $0.hasPrefix(root) }, "\(causes)")
            #expect(kill(database.pid, 0) == 0)
        }
    }
}
