// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Python's functions in crash logs")
    struct PythonStackTests {
        /// This machine's interpreters: the system's, and those of pyenv, if there are any.
        static let interpreters: [String] = {
            let home = getenv("HOME").map { String(cString: $0) } ?? "/"
            let versions = names(in: "\(home)/.pyenv/versions").filter { name in
                ["3.9.", "3.10.", "3.11.", "3.12.", "3.13."].contains(where: name.hasPrefix)
            }
            return ["/usr/bin/python3"] + versions.sorted().map { "\(home)/.pyenv/versions/\($0)/bin/python3" }
        }()

        private static let script = #"""
            import asyncio, concurrent.futures, sys, threading, time
            from wd import notify

            def ready():
                notify("READY=1", "WATCHDOG=1")

            class Feed:
                def load_feed(self, url):
                    time.sleep(600)  # line: sleep

            def sleep():
                ready()
                list(map(Feed().load_feed, ["http://example.org"]))  # line: map

            lock = threading.Lock()

            def refresh_index():
                with lock:  # line: lock
                    pass

            def second_thread():
                lock.acquire()
                threading.Thread(target=refresh_index).start()
                ready()
                time.sleep(600)

            def count_words(n):
                while True:
                    n = add(n)  # line: add

            def add(n):
                return n + 1

            def busy():
                ready()
                count_words(0)

            async def handle_request():
                ready()
                blocking_query()  # line: query

            def blocking_query():
                time.sleep(600)

            def event_loop():
                asyncio.run(handle_request())

            def resize_picture(number):
                time.sleep(600)  # line: resize

            def thread_pool():
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    results = [pool.submit(resize_picture, number) for number in range(2)]
                    ready()
                    results[0].result()

            globals()[sys.argv[1]]()
            """#

        private static func line(_ mark: String) -> Int {
            let lines = script.split(separator: "\n", omittingEmptySubsequences: false)
            return (lines.firstIndex { $0.hasSuffix("# line: \(mark)") } ?? -1) + 1
        }

        private func hang(
            _ how: String, _ interpreter: String = "/usr/bin/python3", wrapper: [String] = []
        ) throws -> Ending {
            let scratch = try Scratch()
            let script = try scratch.write(Self.script, to: "app.py")
            return try Supervision(
                ["--update", "600ms"], [interpreter, script, how], wrapper: wrapper, scratch: scratch
            ).end()
        }

        private func report(_ arguments: [String], _ ending: Ending) throws -> String {
            let path = try #require(ending.reportPaths.first)
            let program = try Program([product("watchdogd"), "report"] + arguments + [path])
            #expect(try program.end().code == 0, "\(program.text(.errors))")
            return program.text(.output)
        }

        @Test("name the function, its file and its line in every form of the report", arguments: interpreters)
        func everyForm(interpreter: String) throws {
            let ending = try hang("sleep", interpreter)
            let report = try #require(ending.reports.first)
            let stack = try #require(report.faultingStack)
            let own = stack.decisive
            // Before 3.11, a code object does not know the class.
            let isOld = interpreter.contains("/3.9.") || interpreter.contains("/3.10.")
            let function = isOld ? "load_feed" : "Feed.load_feed"
            #expect(own.map(\.name) == [function, "sleep", "<module>"], "\(stack.calls.map(\.name))")
            #expect(own.first?.source == "app.py:\(Self.line("sleep"))")
            #expect(own.dropFirst().first?.source == "app.py:\(Self.line("map"))")
            #expect(!stack.calls.contains { $0.name.hasPrefix("_PyEval_EvalFrameDefault") })
            #expect(stack.calls.filter { $0.language == nil }.allSatisfy { $0.origin != .application })
            // Functions called from C between two Python functions are still shown.
            let index = try #require(stack.calls.firstIndex { $0.name == "sleep" })
            #expect(stack.calls[index - 1].language == nil)
            let frame = try #require(report.body.threads[stack.index].frames.first { $0.symbol == function })
            #expect(frame.language == "python" && frame.sourceFile?.hasSuffix("/app.py") == true)
            #expect(frame.sourceLine == Self.line("sleep") && frame.symbolLocation == 0)

            let place = "app.py:\(Self.line("sleep"))"
            let text = try self.report(["show"], ending)
            #expect(text.contains("\(function) + 0 (\(place)) [python]"), "\(text)")
            let explanation = try self.report(["explain"], ending)
            #expect(explanation.contains("From       \(function) (\(place))"), "\(explanation)")
            #expect(!explanation.contains("_PyEval"))
            let page = try self.report(["export", "--format", "html"], ending)
            #expect(page.contains("<code>\(function)</code>\n<span class=\"mark\">python</span>"))
            #expect(page.contains(place))
            #expect(try self.report(["export", "--format", "metrickit"], ending).contains("callStackTree"))
        }

        @Test("are found for an ordinary user", .enabled(if: isRoot, "root becomes one; others are one already"))
        func ordinaryUser() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o711)
            let script = try scratch.write(Self.script, to: "app.py")
            let ending = try Supervision(
                ["--update", "600ms", "--user", "nobody"], ["/usr/bin/python3", script, "sleep"], scratch: scratch
            ).end()
            #expect(ending.reports.first?.faultingStack?.decisive.first?.name == "Feed.load_feed")
        }

        @Test("belong to the right thread")
        func secondThread() throws {
            let report = try #require(try hang("second_thread").reports.first)
            #expect(report.faultingStack?.decisive.first?.name == "second_thread")
            let others = report.stacks.filter { !$0.isFaulting }
            #expect(others.map { $0.decisive.first?.name } == ["refresh_index"])
            #expect(others.first?.decisive.first?.source == "app.py:\(Self.line("lock"))")
            // The standard library's functions are shown, but not attributed to the app.
            #expect(others.first?.calls.contains { $0.source?.hasPrefix("threading.py:") == true } == true)
        }

        @Test("show the code of a busy loop, though it enters no function in C")
        func busy() throws {
            let report = try #require(try hang("busy").reports.first)
            let own = report.faultingStack?.decisive ?? []
            let caller = try #require(own.first { $0.name == "count_words" }, "\(own.map(\.name))")
            #expect((Self.line("add") - 1...Self.line("add")).contains { caller.source == "app.py:\($0)" })
        }

        @Test("show the handler that blocks an event loop")
        func eventLoop() throws {
            let report = try #require(try hang("event_loop").reports.first)
            let own = report.faultingStack?.decisive ?? []
            #expect(own.prefix(2).map(\.name) == ["blocking_query", "handle_request"], "\(own.map(\.name))")
            #expect(own.dropFirst().first?.source == "app.py:\(Self.line("query"))")
            #expect(report.body.linux?.findings?.contains { $0.kind == .idleEventLoop } != true)
        }

        @Test("show the code of a pool's workers")
        func threadPool() throws {
            let report = try #require(try hang("thread_pool").reports.first)
            #expect(report.faultingStack?.decisive.first?.name == "thread_pool")
            let workers = report.stacks.filter { !$0.isFaulting }
            #expect(workers.map { $0.decisive.first?.name } == ["resize_picture", "resize_picture"])
            #expect(workers.first?.decisive.first?.source == "app.py:\(Self.line("resize"))")
        }

        @Test("appear in samples and in a capture that stops nothing")
        func sampling() throws {
            let scratch = try Scratch()
            let script = try scratch.write(
                Self.script.split(separator: "notify(").joined(separator: "print("), to: "a.py")
            let app = try Program(["/usr/bin/python3", script, "sleep"])
            try app.line("READY=1 WATCHDOG=1")
            let watchdogd = try Program([product("watchdogd"), "sample", "--for", "300ms", "\(app.pid)"])
            _ = try watchdogd.end()
            #expect(watchdogd.text(.output).contains("Feed.load_feed"), "\(watchdogd.text(.output))")
            let reports = try scratch.makeDirectory("reports", mode: 0o755)
            let capture = try Program([product("watchdogd"), "capture", "--reports", reports, "\(app.pid)"])
            #expect(try capture.end().code == 0, "\(capture.text(.errors))")
            let file = try #require(names(in: reports).first)
            let report = try ReportCoding.decode(contents(of: "\(reports)/\(file)") ?? [])
            #expect(report.faultingStack?.decisive.first?.name == "Feed.load_feed")
        }
    }
}
