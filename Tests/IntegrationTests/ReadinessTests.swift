// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Readiness")
    struct ReadinessTests {
        private static let hasRedis = isInstalled("redis-server") && isInstalled("redis-cli")

        // MARK: - Silent programs

        @Test("A silent program counts as launched when its launch allowance ends, with one note")
        func silent() throws {
            let run = try Supervision(["--launch", "300ms"], ["sleep", "60"])
            try run.line(
                "; assuming it launched (set Readiness= or --readiness to the way it reports that)", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(500)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 143)
            #expect(
                ending.messages.count { $0.hasPrefix("watchdogd: sleep has not reported that it is ready within ") }
                    == 1)
            #expect(ending.summary?.launch?.source == "assumed")
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("A program with --readiness none is ready immediately")
        func none() throws {
            let ending = try supervise(
                ["--readiness", "none", "--launch", "200ms", "--update", "200ms"], shell("sleep 0.8; exit 7"))
            #expect(ending.exitCode == 7)
            #expect(ending.errors == [])
            #expect(ending.summary?.launch?.source == "exec")
        }

        @Test(
            "A program that does not send the required message is killed",
            arguments: ["channel", "notify", "listen:/nowhere/socket", "exec:false"])
        func demanded(how: String) throws {
            let ending = try supervise(["--readiness", how, "--launch", "500ms"], ["sleep", "60"])
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-launch")
            #expect(ending.reports.count == 1)
            let missed = ending.reports.first?.body.linux?.missed
            #expect(missed == MissedDetails(.readiness, of: how.contains(":") ? how : "READY=1"))
            #expect(ending.errors.contains { $0.contains(" waiting for \(missed?.target ?? "nothing") (0x8badf00d)") })
        }

        @Test("With --readiness channel, READY=1 on the notify socket is not enough")
        func wrongWay() throws {
            let ending = try supervise(
                ["--readiness", "channel", "--launch", "700ms"], python(#"notify("READY=1"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-launch")
        }

        // MARK: - Commands

        @Test("exec:CMD is repeated until it exits with 0")
        func command() throws {
            let run = try Supervision(
                unhurried(["--readiness", "exec:test -e ready", "--verbose"]),
                shell("sleep 0.4; touch ready; exec sleep 1000"))
            try run.line("sh ready after", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.launch?.source == "probe")
            #expect(ending.summary?.launch?.milliseconds ?? 0 >= 400)
        }

        @Test("A readiness command that hangs neither outlives the run nor delays the launch deadline")
        func hangingCommand() throws {
            let ending = try supervise(
                ["--readiness", "exec:sleep 100 & sleep 100", "--launch", "800ms"], ["sleep", "60"])
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-launch")
        }

        // MARK: - Listening sockets

        @Test("listen:PATH waits until the program listens, and ignores a socket that is only bound")
        func unixSocket() throws {
            let scratch = try Scratch()
            let command = python(
                """
                server = socket.socket(socket.AF_UNIX)
                server.bind(sys.argv[1])
                time.sleep(0.4)
                server.listen()
                hang()
                """, scratch["service"])
            let run = try Supervision(
                unhurried(["--readiness", "listen:\(scratch["service"])", "--verbose"]), command, scratch: scratch)
            try run.line("python3 ready after", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.launch?.source == "probe")
            #expect(ending.summary?.launch?.milliseconds ?? 0 >= 400)
        }

        // MARK: - redis-server, unmodified

        @Test(
            "redis-server --supervised systemd sends READY=1 by itself, and exits with 0 on SIGTERM",
            .enabled(if: hasRedis))
        func redisSupervised() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                ["--readiness", "notify", "--verbose", "--terminate", "20s"],
                redis(scratch, "--port", "0", "--supervised", "systemd"), scratch: scratch)
            try run.line("redis-server ready after", on: .errors)
            #expect(try answer(scratch) == "PONG")
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.termination == "terminated")
            #expect(ending.summary?.status?.isEmpty == false)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("redis-server is ready when it listens on its Unix socket", .enabled(if: hasRedis))
        func redisUnixSocket() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                ["--readiness", "listen:\(scratch["redis"])", "--verbose", "--terminate", "20s"],
                redis(scratch, "--port", "0"), scratch: scratch)
            try run.line("redis-server ready after", on: .errors)
            #expect(try answer(scratch) == "PONG")
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.source == "probe")
        }

        @Test("redis-server is ready when it listens on its port", .enabled(if: hasRedis))
        func redisPort() throws {
            let scratch = try Scratch()
            let port = try freePort()
            let run = try Supervision(
                ["--readiness", "listen:\(port)", "--verbose", "--terminate", "20s"],
                redis(scratch, "--port", port, "--bind", "127.0.0.1"), scratch: scratch)
            try run.line("redis-server ready after", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.source == "probe")
        }

        @Test(
            "redis-server that is not ready in time is killed with the event loop in its stack", .enabled(if: hasRedis))
        func redisNeverReady() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                ["--readiness", "notify", "--launch", "4s"], redis(scratch, "--port", "0"), scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            let names = report.body.threads[report.body.faultingThread].frames.compactMap(\.symbol)
            // Ten times a second, redis leaves epoll_wait for its own tasks.
            #expect(names.contains("aeMain"), "\(names)")
        }

        private func redis(_ scratch: Scratch, _ arguments: String...) -> [String] {
            ["redis-server", "--unixsocket", scratch["redis"], "--dir", scratch.path, "--save", ""] + arguments
        }

        private func answer(_ scratch: Scratch) throws -> String {
            try Program(["redis-cli", "-s", scratch["redis"], "PING"]).line()
        }

        private func freePort() throws -> String {
            try Program(python(#"s = socket.socket(); s.bind(("127.0.0.1", 0)); say(s.getsockname()[1])"#)).line()
        }
    }
}
