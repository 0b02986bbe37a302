// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    /// The outcome of every repair stage of the four apps.
    ///
    /// scripts/samples measures their speed on a machine that has nothing else to do.
    @Suite("Sample apps that tell a story")
    struct StoryTests {
        private let nowhere = "127.0.0.1:1"

        /// A tenth of the usual allowances, because the apps do a tenth of the work.
        private func supervise(
            _ app: StoryApp, _ arguments: [String], options: [String] = [], wrapper: [String] = []
        ) throws -> Supervision {
            let scratch = try Scratch()
            return try Supervision(
                ["--time-scale", StoryApp.timeScale] + options, try app.command(arguments, in: scratch),
                wrapper: wrapper, scratch: scratch)
        }

        /// Runs an app that exits by itself.
        private func record(
            _ app: StoryApp, _ arguments: [String], quitWhen: String = "complete", options: [String] = []
        ) throws -> StoryRecord {
            let run = try supervise(
                app, arguments + ["--quit-when", quitWhen],
                options: ["--expect", "exit:0", "--update", "100s"] + options)
            let ending = try run.end()
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.launch?.source == "channel")
            return try StoryRecord(ending.scratch)
        }

        // MARK: - QuickPick

        @Test(
            "QuickPick that does everything at launch is killed while it waits for the network", arguments: ["1", "2"])
        func quickPickKilled(stage: String) throws {
            let service = try PhotoService()
            let run = try supervise(
                .quickPick, ["--stage", stage, "--server", service.address],
                options: ["--expect", "0x8badf00d:scene-create"])
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.output == "")
            let report = try #require(ending.reports.first)
            let symbols = report.body.threads[report.body.faultingThread].frames.compactMap(\.symbol)
            #expect(symbols.contains { $0.contains("launchBlocking") }, "\(symbols)")
        }

        @Test("QuickPick is killed even at its very first launch, which prepares its files")
        func quickPickFirstLaunch() throws {
            let service = try PhotoService()
            let scratch = try Scratch()
            let command = [
                product("QuickPick"), "--stage", "1", "--server", service.address, "--data", scratch["new data"],
                "--time-scale", StoryApp.timeScale,
            ]
            let ending = try Supervision(
                ["--time-scale", StoryApp.timeScale, "--expect", "0x8badf00d:scene-create"], command, scratch: scratch
            ).end()
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.reports.first?.body.linux?.launch?.spent != nil)
        }

        @Test("QuickPick with one background queue survives, but is useless until the slowest list arrives")
        func quickPickNaive() throws {
            let service = try PhotoService()
            let record = try record(.quickPick, ["--stage", "naive-async", "--server", service.address])
            #expect(record.number("useless") >= 800)
            #expect(record.count("interval.photo") == 8)
        }

        @Test("QuickPick with operations downloads in parallel", arguments: ["4", "5"])
        func quickPickOperations(stage: String) throws {
            let service = try PhotoService()
            let record = try record(.quickPick, ["--stage", stage, "--server", service.address])
            #expect(record.count("interval.photo") == 8)
            #expect(record.count("interval.local photos") == 1)
            // One after the other, they would take the sum.
            let sum = record.number("interval.friends.json") + 8 * record.number("interval.photo")
            #expect(sum > 800)
            if stage == "5" { #expect(record.number("useful") < record.number("complete")) }
        }

        @Test("QuickPick with placeholders is useful from its first frame on, and fetches no photo that nobody wants")
        func quickPickPlaceholders() throws {
            let service = try PhotoService()
            let record = try record(.quickPick, ["--stage", "placeholders", "--server", service.address])
            // Without placeholders it is at least 800.
            #expect(record.number("useless") < 400)
            #expect(record.count("interval.photo") == 0)
            #expect(record.number("complete") > record.number("useful"))
        }

        @Test(
            "QuickPick with placeholders fetches photos of rows that are scrolled to or opened, each once",
            arguments: [("scroll 2", 4), ("scroll 6", 2), ("select 5", 1), ("scroll 2\n1ms select 4\n1ms scroll 2", 4)])
        func quickPickPhotosOnDemand(touches: String, photos: Int) throws {
            let scratch = try Scratch()
            let file = try scratch.write("1ms \(touches)\n", to: "touches")
            // The touches come long before the launch's own work is done.
            let service = try PhotoService(["--profile", "perfect", "--delay", "/license=30s"])
            let record = try record(
                .quickPick, ["--stage", "placeholders", "--server", service.address, "--script", file])
            #expect(record.count("interval.photo") == photos)
        }

        @Test("QuickPick with placeholders unpacks a scene of its interface when that is first shown")
        func quickPickScenes() throws {
            let script = try Scratch()
            let file = try script.write("1ms select 3\n2ms back\n3ms select 4\n4ms quit\n", to: "touches")
            for (touches, scenes) in [([], 2), (["--script", file], 3)] as [([String], Int)] {
                let quit = touches.isEmpty ? ["--quit-when", "complete"] : []
                let run = try supervise(.quickPick, ["--stage", "6", "--server", nowhere] + touches + quit)
                #expect(try run.end().exitCode == 0)
                #expect(try StoryRecord(run.scratch).count("interval.interface") == scenes)
            }
        }

        @Test("QuickPick with placeholders is useful without any server, and answers touches")
        func quickPickWithoutServer() throws {
            let script = try Scratch()
            let file = try script.write("1ms select 3\n2ms back\n2000ms quit\n", to: "touches")
            let run = try supervise(.quickPick, ["--stage", "6", "--server", nowhere, "--script", file])
            try run.line("QuickPick: useful after")
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            let record = try StoryRecord(ending.scratch)
            #expect(record.number("touches") == 3)
            #expect(record["photo-stamp"] == "not licensed")
        }

        @Test("QuickPick with placeholders is useful even if nothing ever arrives, and exits on request")
        func quickPickOnDeadLink() throws {
            let service = try PhotoService(["--profile", "100-percent-loss"])
            let run = try supervise(.quickPick, ["--stage", "6", "--server", service.address])
            try run.line("QuickPick: useful after")
            #expect(try run.program.lives(for: .milliseconds(500)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(try StoryRecord(ending.scratch)["complete"] == nil)
        }

        // MARK: - StarSearcher

        @Test("StarSearcher: each of the four repairs removes its own cause, and together they remove all")
        func starSearcher() throws {
            let slow = try record(.starSearcher, ["--slow"])
            // Main sleeps for the loader while others compute.
            #expect(slow.number("blocked.app init") > 0.7 * slow.number("interval.app init"))

            // The amount of work is fixed, but the machine is not: a repair saves a share of CPU time or of sleep.
            let logger = try record(.starSearcher, ["--repair", "system-logger"])
            #expect(logger.number("running.before main") < slow.number("running.before main") / 2)
            let details = try record(.starSearcher, ["--repair", "details-on-demand"])
            #expect(details.number("running.first render") < slow.number("running.first render") / 3)
            #expect(details.number("running.before main") > logger.number("running.before main") * 2)
            let priority = try record(.starSearcher, ["--repair", "priority"])
            #expect(priority.number("blocked.app init") < slow.number("blocked.app init") / 2)
            #expect(priority.count("interval.all stars") == 0)
            let firstRows = try (0..<3).map { _ in try record(.starSearcher, ["--repair", "first-rows"]) }
            let wait = try #require(firstRows.map { $0.number("blocked.app init") }.min())
            #expect(wait < slow.number("blocked.app init") / 2)
            #expect(firstRows.allSatisfy { $0.count("interval.all stars") == 1 })

            let fast = try (0..<3).map { _ in try record(.starSearcher, ["--fast"]) }
            let firstFrame = try #require(fast.map { $0.number("first-frame") }.min())
            #expect(firstFrame < slow.number("first-frame") / 2)
        }

        @Test("StarSearcher loads its logger as a library, whose constructor runs before main, or not at all")
        func logger() throws {
            for (options, isLoaded) in [(["--slow"], true), (["--repair", "system-logger"], false)] {
                let scratch = try Scratch()
                let command = try StoryApp.starSearcher.command(options + ["--quit-when", "useful"], in: scratch)
                let recording = try Program(
                    [product("watchdogd"), "record", "--until", "ready", "-o", scratch["launch"], "--"] + command,
                    directory: scratch.path)
                #expect(try recording.end().code == 0, "\(recording.text(.errors))")
                let shown = try Program([product("watchdogd"), "record", "show", "--json", scratch["launch"]])
                #expect(try shown.end().code == 0, "\(shown.text(.errors))")
                #expect(shown.text(.output).contains("libSuperfastLog.so") == isLoaded)
            }
        }

        @Test("StarSearcher without its logger's library says so")
        func noLogger() throws {
            let scratch = try Scratch()
            let copy = scratch["StarSearcher"]
            try FileManager.default.copyItem(atPath: product("StarSearcher"), toPath: copy)
            let command = try StoryApp.starSearcher.command(["--slow"], in: scratch)
            let program = try Program([copy] + command.dropFirst())
            #expect(try program.end().code == 71)
            let message = "cannot read \(scratch["libSuperfastLog.so"]): No such file or directory"
            #expect(program.text(.errors) == "StarSearcher: \(message)\n")
        }

        // MARK: - Stocks

        @Test("Stocks that computes on its main loop hangs, and the hang is reported")
        func stocksBlocking() throws {
            let script = try Scratch()
            let file = try script.write("20ms select 1\n21ms back\n22ms quit\n", to: "touches")
            let run = try supervise(
                .stocks, ["--stage", "blocking", "--script", file, "--touch-every", "16ms"],
                options: ["--enforce", "report", "--expect", "0x8badf00d:scene-update"])
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(try StoryRecord(ending.scratch).number("touch.max") >= 1000)
            let report = try #require(ending.reports.first)
            let symbols = report.body.threads[report.body.faultingThread].frames.compactMap(\.symbol)
            #expect(symbols.contains { $0.contains("loadOnMain") }, "\(symbols)")
        }

        @Test("Stocks that computes elsewhere answers touches meanwhile", arguments: ["2", "3"])
        func stocks(stage: String) throws {
            let script = try Scratch()
            let file = try script.write("20ms select 1\n", to: "touches")
            let record = try record(
                .stocks, ["--stage", stage, "--script", file, "--touch-every", "50ms"])
            #expect(record["plots"] == "24")
            #expect(record.count("interval.draw") == 24)
            #expect(record.number("touch.p50") < 500)
        }

        @Test("Stocks cancels the work of a group that the user leaves")
        func stocksCancellation() throws {
            let script = try Scratch()
            let file = try script.write("20ms select 1\n100ms back\n900ms quit\n", to: "touches")
            let run = try supervise(.stocks, ["--stage", "cancellation", "--script", file])
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            let record = try StoryRecord(ending.scratch)
            #expect(record.number("cancelled-at-back") > 0)
            #expect(record.count("interval.draw") < 24)
        }

        // MARK: - Glassboard

        @Test("Glassboard is loaded but useless when cold, but not on later visits")
        func glassboard() throws {
            let scratch = try Scratch()
            let command = try StoryApp.glassboard.command(
                ["--quit-when", "complete", "--server", nowhere], in: scratch)
            func visit(_ kind: String) throws -> StoryRecord {
                let program = try Program(command + [kind], directory: scratch.path)
                #expect(try program.end().code == 0, "\(program.text(.errors))")
                return try StoryRecord(scratch)
            }
            let cold = try visit("--cold")
            #expect(cold.count("interval.avatar") == 60)
            #expect(cold.count("interval.write archive") == 0)
            let first = try visit("--snapshot")
            #expect(first["archive"] == "none")
            #expect(first.count("interval.write archive") == 1)
            let later = try (0..<3).map { _ in try visit("--snapshot") }
            #expect(later.allSatisfy { $0["archive"] == "read" })
            // Others may take the CPU from a visit, which makes it longer and never shorter.
            #expect(try #require(later.map { $0.number("useless") }.min()) < cold.number("useless") / 5)
            #expect(later.allSatisfy { (1...16).contains($0.count("interval.avatar")) })
        }

        @Test(
            "A second scene of Glassboard shares what the first one has loaded, or loads it again",
            arguments: [("--snapshot", "1"), ("--cold", "2")])
        func scenes(kind: String, fetches: String) throws {
            let scratch = try Scratch()
            let visit = try StoryApp.glassboard.command([kind, "--quit-when", "complete"], in: scratch)
            // The first visit leaves an archive, if it keeps one.
            #expect(try Program(visit).end().code == 0)
            let file = try scratch.write("1ms scene\n", to: "touches")
            #expect(try Program(visit + ["--script", file]).end().code == 0)
            #expect(try StoryRecord(scratch)["fetches"] == fetches)
        }

        @Test("Glassboard survives a damaged archive")
        func damagedArchive() throws {
            let scratch = try Scratch()
            let command = try StoryApp.glassboard.command(["--quit-when", "complete", "--snapshot"], in: scratch)
            _ = try scratch.makeDirectory("data with blanks/documents")
            try scratch.write("no property list", to: "data with blanks/documents/visible.plist")
            let program = try Program(command)
            #expect(try program.end().code == 0)
            #expect(try StoryRecord(scratch)["archive"] == "none")
        }
    }
}
