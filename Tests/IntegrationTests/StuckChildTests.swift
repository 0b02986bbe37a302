// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Wrappers whose child is stuck")
    struct StuckChildTests {
        /// A wrapper, and its main thread's wait.
        struct Wrapper: Sendable, CustomTestStringConvertible {
            let command: [String]
            let words: String

            init(_ words: String, _ command: [String]) {
                self.words = words
                self.command = command
            }

            var testDescription: String { command.joined(separator: " ") }
        }

        private static func python(_ source: String) -> [String] {
            ["/usr/bin/python3", "-c", "import os, signal, subprocess\nos.mkfifo('fifo')\n" + source]
        }

        /// Each starts `cat fifo`, which waits for a writer.
        static let wrappers = [
            Wrapper("waits for signals", ["dash", "-c", "mkfifo fifo; cat fifo & trap 'kill $!' TERM; wait $!"]),
            Wrapper("waits for signals", ["sh", "-c", "mkfifo fifo; exec timeout 600 cat fifo"]),
            Wrapper("waits for a child", ["sh", "-c", "mkfifo fifo; exec setsid --fork --wait cat fifo"]),
            Wrapper(
                "waits for a child",
                ["bash", "-c", "mkfifo fifo; dash -c 'cat fifo & trap : TERM; wait $!'; true"]),
            Wrapper("waits for signals", python("subprocess.Popen(['cat', 'fifo']); signal.pause()")),
            Wrapper(
                "waits for a child's output",
                python("subprocess.Popen(['cat', 'fifo'], stdout=subprocess.PIPE).stdout.read()")),
        ]

        private func report(_ command: [String]) throws -> Report {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", "2s", "--chdir", scratch.path], command, scratch: scratch
            ).end()
            return try #require(ending.reports.first)
        }

        @Test("The verdict and the fault name the program, its process and its wait", arguments: wrappers)
        func named(wrapper: Wrapper) throws {
            let report = try report(wrapper.command)
            let linux = try #require(report.body.linux)
            let cat = try #require(linux.processes?.first { $0.name == "cat" })
            #expect(linux.findings?.last?.kind == .otherProcess)
            #expect(linux.findings?.last?.processes == [cat.pid])
            #expect(linux.verdict.line.contains("\(cat.pid) \"cat\""), "\(linux.verdict.line)")
            let explanation = Explanation(of: report)
            #expect(explanation.blame?.party == .app)
            let reason = explanation.blame?.reason ?? ""
            #expect(reason.hasPrefix("process \(cat.pid) \"cat\""), "\(reason)")
            #expect(reason.contains(" is blocked in openat (fifo (fifo that nobody opens for "), "\(reason)")
            #expect(reason.hasSuffix(", while the main thread \(wrapper.words)"), "\(reason)")
            #expect(explanation.headline?.contains("\"cat\"") == true)
        }

        @Test("A stopped child is somebody else's fault")
        func stopped() throws {
            let report = try report(
                ["/usr/bin/python3", "-c"] + [
                    """
                    import os, signal, subprocess
                    os.kill(subprocess.Popen(["sleep", "600"]).pid, signal.SIGSTOP)
                    signal.pause()
                    """
                ])
            let blame = Blame(for: report)
            #expect(blame.party == .somebodyElse)
            #expect(
                blame.reason.contains("\"sleep\" is stopped, while the main thread waits for signals"),
                "\(blame.reason)")
        }

        @Test("Neither a server that waits for clients nor its sleeping helper is named")
        func idle() throws {
            let serve = "import socket; server = socket.create_server(('127.0.0.1', 0)); server.accept()"
            let report = try report(
                ["dash", "-c", "/usr/bin/python3 -c \"$0\" & while sleep 600; do :; done & trap : TERM; wait", serve])
            let linux = try #require(report.body.linux)
            #expect((linux.processes?.count ?? 0) >= 2)
            #expect(linux.findings?.contains { $0.kind == .otherProcess } != true, "\(linux.findings ?? [])")
            #expect(!linux.verdict.line.contains("process"), "\(linux.verdict.line)")
        }
    }
}
