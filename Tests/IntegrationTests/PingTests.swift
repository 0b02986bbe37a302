// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("ping")
    struct PingTests {
        private func ping(_ arguments: String..., at socket: String) throws -> (code: Int32?, text: String) {
            let program = try Program(
                [product("watchdogd"), "ping", "--timeout", "1h", "--control", socket] + arguments)
            let code = try program.end().code
            return (code, program.text(.output) + program.text(.errors))
        }

        /// Waits until a ping has this outcome, however slow the machine is.
        private func expectPing(
            _ arguments: String..., at socket: String, _ code: Int32, _ text: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            var latest: (code: Int32?, text: String) = (nil, "")
            let isSo = try eventually {
                let program = try Program(
                    [product("watchdogd"), "ping", "--timeout", "1h", "--control", socket] + arguments)
                latest = (try program.end().code, program.text(.output) + program.text(.errors))
                // The length of the silence differs with each ping.
                return latest.code == code && latest.text.replacing(#/ for [^(]+ \(/#, with: " for … (") == text
            }
            #expect(isSo, "\(latest)", sourceLocation: sourceLocation)
        }

        /// Ready when the first file exists, silent as long as the second one does.
        private let obedient = """
            while not os.path.exists(sys.argv[1]): time.sleep(0.02)
            notify("READY=1", "WATCHDOG=1")
            while True:
                if not os.path.exists(sys.argv[2]): notify("WATCHDOG=1")
                time.sleep(0.05)
            """

        @Test("The program of a run is not ready, ready, silent, and ready again")
        func run() throws {
            let scratch = try Scratch()
            let socket = scratch["control"]
            let run = try Supervision(
                [
                    "--name", "shop", "--control", socket, "--launch", "10min", "--update", "1s", "--enforce", "report",
                    "--terminate",
                    "300ms",
                ],
                python(obedient, scratch["ready"], scratch["silent"]), scratch: scratch)
            try expectPing(at: socket, 1, "shop is not ready yet: launching\n")
            try expectPing("--daemon", at: socket, 0, "watchdogd \(version) answers, pid \(run.program.pid)\n")
            try scratch.write("", to: "ready")
            try expectPing(at: socket, 0, "shop is ready and answers\n")
            try scratch.write("", to: "silent")
            try expectPing("shop", at: socket, 1, "shop is ready, but not answering for … (no WATCHDOG=1)\n")
            try expectPing("s*", at: socket, 1, "shop is ready, but not answering for … (no WATCHDOG=1)\n")
            unlink(scratch["silent"])
            try expectPing("shop", at: socket, 0, "shop is ready and answers\n")
            let unknown = try ping("shopp", at: socket)
            #expect(unknown.code == 66 && unknown.text.contains("did you mean \"shop\"?"))
            try run.send(SIGTERM)
            #expect(try run.end().summary?.termination == "terminated")
            #expect(access(socket, F_OK) != 0, "the socket goes with the run")
            #expect(try ping(at: socket).code == 69)
        }

        @Test("The socket of a run answers, and changes nothing")
        func harmless() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                unhurried(["--name", "shop", "--control", scratch["control"], "--readiness", "none"]),
                ["/bin/sleep", "600"], scratch: scratch)
            try expectPing(at: scratch["control"], 0, "shop is ready; nothing watches whether it answers\n")
            for command in [["terminate"], ["restart"], ["launch"], ["capture"], ["suspend"]] {
                let program = try Program(
                    [product("watchdogd")] + command + ["--control", scratch["control"], "shop"])
                #expect(try program.end().code == 70)
                #expect(program.text(.errors).contains("this watchdogd runs one program"))
            }
            let status = try Program([product("watchdogd"), "status", "--control", scratch["control"], "shop"])
            #expect(try status.end().code == 0)
            #expect(status.text(.output).contains("State: running"))
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
        }

        @Test("A control socket that cannot be created is an error, and nothing is launched")
        func badSocket() throws {
            let ending = try supervise(["--control", "/proc/none/control"], ["/bin/true"])
            #expect(ending.exitCode == 73)
            #expect(ending.errors.count == 1 && ending.errors[0].contains("--control: "), "\(ending.errors)")
            #expect(ending.summary == nil)
        }

        @Test("Each of a daemon's apps is ready and answers, or not")
        func serve() throws {
            let service = try Service([
                "good": "[App]\nExecStart=/usr/bin/sleep 600\n\(unhurriedSettings)Readiness=none\n",
                "bad": """
                [App]
                ExecStart=/bin/false
                [Restart]
                Policy=never
                """,
            ])
            let socket = service.scratch["control"]
            try expectPing("good", at: socket, 0, "good is ready; nothing watches whether it answers\n")
            try expectPing("bad", at: socket, 1, "bad is not ready: stopped\n")
            let any = try ping(at: socket)
            #expect(any.code == 64 && any.text.contains("name one"), "\(any)")
            #expect(try service.end() == 0)
        }

        private var version: String {
            get throws {
                let program = try Program([product("watchdogd"), "--version"])
                try program.end()
                return program.text(.output).trimmed
            }
        }
    }
}
