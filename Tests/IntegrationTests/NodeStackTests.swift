// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("JavaScript's functions in crash logs", .enabled(if: isInstalled("node"), "node is not installed"))
    struct NodeStackTests {
        private static let script = """
            const fs = require("fs");

            function parseFeed(count) {  // line: parse
              let sum = 0;
              for (let i = 0; i < count; i++) sum = (sum * 31 + i) | 0;
              return sum;
            }

            function refreshTimeline() {  // line: refresh
              for (;;) parseFeed(1000);
            }

            function readConfiguration(path) {  // line: read
              const file = fs.openSync(path, "r+");
              return fs.readSync(file, Buffer.alloc(10));
            }

            class Settings {
              loadSettings(path) {  // line: load
                readConfiguration(path);
              }
            }

            process.argv[2] === "busy" ? refreshTimeline() : new Settings().loadSettings(process.argv[3]);
            """

        private static let options = ["--perf-basic-prof", "--interpreted-frames-native-stack"]

        private static func line(_ mark: String) -> Int {
            let lines = script.split(separator: "\n", omittingEmptySubsequences: false)
            return (lines.firstIndex { $0.hasSuffix("// line: \(mark)") } ?? -1) + 1
        }

        /// Node leaves its map behind; other maps on this machine stay.
        private func hang(_ how: String, _ options: [String]) throws -> Ending {
            let scratch = try Scratch()
            let script = try scratch.write(Self.script, to: "app.js")
            let pipe = "\(scratch.path)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            // More time than node needs to start beside four spinners; it never becomes ready.
            let command = ["node", "--logfile=\(scratch.path)/v8.log"] + options + [script, how, pipe]
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", "6s"], command, scratch: scratch
            ).end()
            if let pid = ending.reports.first?.body.pid { unlink("/tmp/perf-\(pid).map") }
            return ending
        }

        private func explanation(_ ending: Ending) throws -> String {
            let path = try #require(ending.reportPaths.first)
            let program = try Program([product("watchdogd"), "report", "explain", path])
            #expect(try program.end().code == 0, "\(program.text(.errors))")
            return program.text(.output).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }

        @Test("name the functions of a synchronous call that hangs, with file and line")
        func blocked() throws {
            let ending = try hang("read", Self.options)
            let report = try #require(ending.reports.first)
            let stack = try #require(report.faultingStack)
            let own = stack.decisive
            #expect(
                own.map(\.name) == ["readConfiguration", "loadSettings", "<anonymous>"], "\(stack.calls.map(\.name))")
            #expect(own.map(\.source) == ["read", "load"].map { "app.js:\(Self.line($0))" } + ["app.js:1"])
            #expect(own.allSatisfy { $0.language == "javascript" && $0.trust != .scan })
            // Node's own JavaScript is shown, and is not attributed to the app.
            #expect(stack.calls.contains { $0.name == "readSync" && $0.origin == .runtime })
            // The stack continues beyond the generated code.
            #expect(stack.calls.last?.name == "_start")
            let explanation = try explanation(ending)
            #expect(explanation.contains("From readConfiguration (app.js:\(Self.line("read")))"), "\(explanation)")
            #expect(!explanation.contains("--perf-basic-prof"), "\(explanation)")
        }

        @Test("name the function of a busy loop once it is compiled, and its caller")
        func busy() throws {
            let report = try #require(try hang("busy", Self.options).reports.first)
            let own = report.faultingStack?.decisive ?? []
            let caller = try #require(own.first { $0.name == "refreshTimeline" }, "\(own.map(\.name))")
            #expect(caller.source == "app.js:\(Self.line("refresh"))")
        }

        @Test("are there without a map, as V8 itself describes its structures", arguments: ["read", "busy"])
        func withoutMap(how: String) throws {
            let ending = try hang(how, [])
            let stack = try #require(ending.reports.first?.faultingStack)
            let own = stack.decisive
            let names = (how == "read" ? ["readConfiguration", "loadSettings"] : ["refreshTimeline"]) + ["<anonymous>"]
            // A compiler may have put parseFeed into its caller.
            #expect(own.map(\.name).filter { $0 != "parseFeed" } == names, "\(stack.calls.map(\.name))")
            let line = Self.line(how == "read" ? "read" : "refresh")
            #expect(own.first { $0.name == names[0] }?.source == "app.js:\(line)")
            #expect(own.allSatisfy { $0.language == "javascript" && $0.trust != .scan })
            #expect(stack.calls.last?.name == "_start")
            #expect(try !explanation(ending).contains("--perf-basic-prof"))
        }

        @Test(
            "are found in a container's own /tmp, by the process ID in its namespace",
            .enabled(if: hasAllRights, "only root makes namespaces here"))
        func namespaces() throws {
            let scratch = try Scratch()
            let script = """
                const fs = require("fs");
                function readConfiguration() {
                  const file = fs.openSync("/tmp/pipe", "r+");
                  fs.writeSync(1, "ready\\n");
                  fs.readSync(file, Buffer.alloc(10));
                }
                readConfiguration();
                """
            let options = (Self.options + ["--logfile=/tmp/v8.log"]).joined(separator: " ")
            let shell = "mount -t tmpfs none /tmp && mkfifo /tmp/pipe && exec node \(options) -e \"$0\""
            let container = try Program(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", shell, script])
            try container.line("ready")
            let children = contents(of: "/proc/\(container.pid)/task/\(container.pid)/children") ?? []
            let pid = try #require(Int(String(decoding: children, as: UTF8.self).filter { !$0.isWhitespace }))
            #expect(
                eventually {
                    String(decoding: contents(of: "/proc/\(pid)/syscall") ?? [], as: UTF8.self).hasPrefix("0 ")
                })
            let reports = try scratch.makeDirectory("reports", mode: 0o755)
            let capture = try Program([product("watchdogd"), "capture", "--reports", reports, "\(pid)"])
            #expect(try capture.end().code == 0, "\(capture.text(.errors))")
            let file = try #require(names(in: reports).first)
            let report = try ReportCoding.decode(contents(of: "\(reports)/\(file)") ?? [])
            let own = report.faultingStack?.decisive ?? []
            #expect(own.first?.name == "readConfiguration", "\(own.map(\.name))")
            #expect(own.first?.source == "[eval]:2")
        }
    }
}
