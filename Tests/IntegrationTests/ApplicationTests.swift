// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Apps with a lifecycle: the library in one process, watchdogd in the other")
    struct ApplicationTests {
        private let scratch: Scratch

        init() throws {
            scratch = try Scratch()
        }

        private func play(_ script: [String], _ app: String, _ arguments: [String]) throws -> Ending {
            let path = try scratch.write(script.joined(separator: "\n") + "\n", to: "script")
            return try Supervision(
                ["--script", path, "--time-scale", "0.2", "--verbose"], [product(app)] + arguments, scratch: scratch
            ).end()
        }

        private func save(_ way: String, _ script: String...) throws -> Ending {
            try play(
                ["launch", "wait ready"] + script, "BackgroundSaver",
                ["--\(way)", "--seconds", "0.3", "--database", scratch["library"]])
        }

        @Test("An app that ends its task is suspended afterwards, resumes and exits normally")
        func finish() throws {
            let ending = try save(
                "finish", "event url page:7", "background", "wait suspended", "foreground", "wait foreground",
                "terminate", "expect exited 0")
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.reports.isEmpty)
            #expect(ending.output.contains("saved"))
            #expect(ending.output.contains("event url page:7"))
            #expect(ending.output.hasSuffix("BackgroundSaver: ends\n"))
        }

        @Test("An app whose expiration handler ends the task is suspended when the time is over")
        func expire() throws {
            let ending = try save("expire", "background", "wait suspended", "expect alive", "terminate")
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.reports.isEmpty)
            #expect(ending.output.contains("BackgroundSaver: time is over\nBackgroundSaver: saved"))
            #expect(!ending.output.contains("ends"), "a suspended app does not hear of its end")
        }

        @Test(
            "An app that keeps its task open is killed, and the report names the task", arguments: ["overrun", "leak"])
        func open(way: String) throws {
            let ending = try save(way, "background", "expect killed 0x2182bad2:background-task")
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.output.contains("time is over"))
            #expect(ending.reports.first?.body.linux?.lifecycle?.openTasks.map(\.name) == ["Saving library"])
        }

        @Test("An app with more than a thousand tasks is killed")
        func hoard() throws {
            let ending = try save("hoard", "background", "expect killed 0xbada5e47")
            #expect(ending.exitCode == 0, "\(ending.errors)")
        }

        @Test("An app that is suspended with a lock on its database is killed, and the report names the file")
        func lock() throws {
            let ending = try save("lock", "background", "expect killed 0xdead10cc")
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.reports.first?.body.linux?.lifecycle?.lockedFiles.map(\.path) == [scratch["library"]])
        }

        @Test("An app launched into the background does not become active before it enters the foreground")
        func background() throws {
            let ending = try play(
                [
                    "launch background", "wait ready", "expect background", "foreground", "wait foreground",
                    "terminate", "expect exited 0",
                ],
                "BackgroundSaver", ["--database", scratch["library"]])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            let lines = ending.output.split(separator: "\n").map { $0.dropFirst("BackgroundSaver: ".count) }
            #expect(lines == ["launched in the background", "foreground", "active", "ends"])
        }

        @Test("An app that saves at the last moment exits in time or is killed", arguments: [false, true])
        func slowExit(isTooSlow: Bool) throws {
            let ending = try play(
                ["launch", "wait ready", "terminate"]
                    + [isTooSlow ? "expect killed 0x8badf00d:process-exit" : "expect exited 0"],
                "SlowExit", ["--seconds", isTooSlow ? "60" : "0.1"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            let frames = ending.reports.first?.body.threads.first?.frames.compactMap(\.symbol) ?? []
            #expect(frames.contains { $0.contains("flushEntries") } == isTooSlow)
        }
    }
}
