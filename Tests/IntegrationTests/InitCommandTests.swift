// SPDX-License-Identifier: Apache-2.0

import Testing

extension EndToEnd {
    @Suite("watchdogd init")
    struct InitCommandTests {
        private let scratch: Scratch

        init() throws { scratch = try Scratch() }

        private func run(_ arguments: String...) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd")] + arguments, directory: scratch.path)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        /// Whether a process has this word in its command line.
        private func runs(_ word: String) -> Bool {
            names(in: "/proc").contains { name in
                guard Int(name) != nil, let line = contents(of: "/proc/\(name)/cmdline") else { return false }
                return line.split(separator: 0).contains { String(decoding: $0, as: UTF8.self) == word }
            }
        }

        @Test("An app with the library gets its channel, and a valid file that is never overwritten")
        func channel() throws {
            let answer = try run("init", "--within", "60s", "--output", "it.app", "--", product("HealthyApp"))
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.errors.contains("  opened the channel after "))
            #expect(answer.errors.contains(" after SIGTERM\n"))
            let text = try #require(scratch.read("it.app"))
            #expect(text.contains("\nReadiness=channel\n"))
            #expect(text.contains("\nUpdate=10s\n"))
            #expect(try run("check", "it.app").code == 0)
            let again = try run("init", "--output", "it.app", "--", "/bin/touch", "tried")
            #expect(again.code == 73)
            #expect(again.errors.contains("it.app exists already; nothing was tried or written"))
            #expect(!scratch.exists("tried"))
        }

        @Test(
            "A server gets a probe of its port, and no process of it remains",
            .enabled(if: isInstalled("python3"), "needs python3"))
        func server() throws {
            try scratch.write(
                """
                import http.server, subprocess
                subprocess.Popen(["sleep", "31415.9261"])
                server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
                print("port", server.server_port, flush=True)
                server.serve_forever()
                """, to: "server.py")
            let answer = try run("init", "--within", "60s", "--", "python3", "server.py")
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.errors.contains("  listens on 127.0.0.1:"))
            #expect(answer.errors.contains("answered GET / with 200"))
            #expect(answer.output.contains("\nWorkingDirectory=\(scratch.path)\n"))
            #expect(!runs("31415.9261"))
        }

        @Test("A program that ignores SIGTERM is killed with its children")
        func stubborn() throws {
            let answer = try run(
                "init", "--within", "3s", "--", "/bin/sh", "-c", "trap '' TERM; sleep 31415.9262; sleep 31415.9262")
            #expect(answer.code == 0)
            #expect(answer.errors.contains("  did not exit within "))
            #expect(answer.output.contains("# It did not exit within "))
            #expect(!runs("31415.9262"))
        }

        @Test("A program that fails or daemonizes gets no file, and leaves no process")
        func failures() throws {
            let failed = try run("init", "--", "/bin/sh", "-c", "echo no licence >&2; exit 3")
            #expect(failed.code == 70)
            #expect(failed.errors.hasSuffix("watchdogd: /bin/sh failed with code 3: no licence\n"))
            #expect(failed.output == "")
            let gone = try run("init", "--", "/bin/sh", "-c", "setsid sleep 31415.9263 & sleep 0.2; exit 0")
            #expect(gone.code == 70)
            #expect(gone.errors.contains("went to the background"))
            #expect(!runs("31415.9263"))
            #expect(try run("init", "--", "nosuch-program").code == 66)
        }
    }
}
