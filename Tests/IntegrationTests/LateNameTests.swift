// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore

extension EndToEnd {
    @Suite("Names that arrive after the report", .enabled(if: isInstalled("cc"), "there is no C compiler"))
    struct LateNameTests {
        /// A watchdogd whose helper fails while a file says so, and a program with two threads that hangs.
        private struct Bed {
            let scratch: Scratch
            let watchdogd: String
            let program: String

            init(failing: String) throws {
                scratch = try Scratch()
                // The helper runs as a different user.
                chmod(scratch.path, 0o755)
                let binaries = try scratch.makeDirectory("bin")
                watchdogd = "\(binaries)/watchdogd"
                for (name, copy) in [("watchdogd", "watchdogd"), ("watchdogd-symbolicate", "real")] {
                    try Self.run(["cp", product(name), "\(binaries)/\(copy)"])
                }
                let marks = try scratch.makeDirectory("marks")
                chmod(marks, 0o777)
                // Its first argument selects the program's role.
                try scratch.write(
                    """
                    #!/bin/bash
                    \(failing.replacing("MARKS", with: marks))
                    exec -a watchdogd-symbolicate \(binaries)/real "${@}"

                    """, to: "bin/watchdogd-symbolicate", mode: 0o755)
                program = scratch["locked"]
                try Self.run(["cc", "-O1", "-g", "-pthread", "-o", program, "\(subjects)/stripped.c"])
            }

            /// The file of an app that hangs from its start.
            var app: String {
                """
                [App]
                ExecStart=\(program)
                [Watchdog]
                Readiness=notify
                Launch=1s
                [Restart]
                Policy=never
                """
            }

            /// A daemon that finds the helper beside its own program.
            func service(_ apps: [String: String] = [:]) throws -> Service {
                try Service(
                    apps, wrapper: ["sh", "-c", "shift; exec \(watchdogd) \"$@\"", "sh"], scratch: scratch)
            }

            private static func run(_ command: [String]) throws {
                let program = try Program(command)
                try #require(try program.end().code == 0, "\(command): \(program.text(.errors))")
            }
        }

        private func symbols(_ report: Report) -> [String] {
            report.body.threads.flatMap(\.frames).compactMap(\.symbol)
        }

        private func notes(_ report: Report) -> [String] { report.body.linux?.notes ?? [] }

        @Test("run tries again before it exits, and the report has its names")
        func run() throws {
            // Later attempts have more time.
            let bed = try Bed(failing: "[[ \"$*\" == *--budget\\ 30000ms* ]] || exit 70")
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", "1s"], [bed.program], binary: bed.watchdogd, scratch: bed.scratch
            ).end()
            let report = try #require(ending.reports.first)
            #expect(symbols(report).contains("block_for_ever") && symbols(report).contains("keep_lock"))
            #expect(notes(report).contains { $0.hasPrefix("The names were added at ") }, "\(notes(report))")
            #expect(ending.errors.contains { $0.contains("locked: names were added to ") }, "\(ending.errors)")
            #expect(names(in: bed.scratch["reports"]).count == 1)
        }

        @Test("the next daemon adds the names that the previous one did not find")
        func next() throws {
            let bed = try Bed(failing: "[ -e MARKS/busy ] && exit 70")
            try bed.scratch.write("", to: "marks/busy")
            let first = try bed.service(["locked": bed.app])
            let store = ReportStore(directory: bed.scratch["reports"])
            #expect(eventually { (try? store.list().isEmpty) == false })
            try first.wait(for: "locked") { $0.pid == nil && $0.lastIncident?.report != nil }
            #expect(try first.end() == 0)
            let stored = try #require(try store.list().first)
            let early = try store.read(stored)
            #expect(symbols(early).isEmpty && notes(early).contains { $0.hasPrefix("Names are missing. ") })
            unlink(bed.scratch["marks/busy"])
            first.remove("locked")
            let second = try bed.service()
            #expect(
                eventually {
                    (try? store.read(stored)).map { symbols($0).contains("block_for_ever") } == true
                })
            let late = try store.read(stored)
            #expect(notes(late).contains { $0.hasPrefix("The names were added at ") }, "\(notes(late))")
            #expect(late.body.incident == early.body.incident)
            try second.program.line("locked: names were added to ", on: .errors)
            #expect(try second.end() == 0)
        }

        @Test("the daemon's report has all addresses immediately, and names as soon as the helper works")
        func serve() throws {
            let bed = try Bed(failing: "[ -e MARKS/busy ] && exit 70")
            try bed.scratch.write("", to: "marks/busy")
            let service = try bed.service(["locked": bed.app])
            let store = ReportStore(directory: bed.scratch["reports"])
            #expect(eventually { (try? store.list().isEmpty) == false })
            let stored = try #require(try store.list().first)
            let early = try store.read(stored)
            #expect(symbols(early).isEmpty)
            #expect(notes(early).contains { $0.hasPrefix("Names are missing. ") }, "\(notes(early))")
            let images = early.body.usedImages
            for thread in early.body.threads {
                // block_for_ever's recursion, main or keep_lock.
                #expect(thread.frames.contains { images[$0.imageIndex].name == "locked" })
                #expect(thread.frames.allSatisfy { images.indices.contains($0.imageIndex) })
            }
            let own = try #require(images.firstIndex { $0.name == "locked" })
            #expect(early.body.threads[0].frames.count { $0.imageIndex == own } >= 5)
            #expect(early.body.linux?.buildIDs[own]?.count == 40)
            var before = stat()
            stat(stored.path, &before)
            unlink(bed.scratch["marks/busy"])
            let isNamed = eventually {
                (try? store.read(stored)).map { symbols($0).contains("block_for_ever") } == true
            }
            #expect(isNamed)
            let late = try store.read(stored)
            #expect(symbols(late).contains("keep_lock"))
            #expect(late.body.incident == early.body.incident && late.body.captureTime == early.body.captureTime)
            #expect(notes(late).contains { $0.hasPrefix("The names were added at ") })
            var after = stat()
            stat(stored.path, &after)
            #expect(after.st_mode == before.st_mode && after.st_uid == before.st_uid && after.st_mode & 0o027 == 0)
            try service.program.line("locked: names were added to ", on: .errors)
            #expect(names(in: bed.scratch["reports"]).count == 1)
        }
    }
}
