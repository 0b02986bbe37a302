// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogPolicy
import WatchdogReport

extension EndToEnd {
    @Suite("Programs that speak the channel's protocol by hand")
    struct ChannelTests {
        private static let client = ["/usr/bin/python3", "\(subjects)/channel_client.py"]

        @Test("The channel is an inherited SOCK_SEQPACKET socket, and no other descriptor is passed on")
        func descriptor() throws {
            let command = python(
                """
                end = channel()
                say(end.family == socket.AF_UNIX, end.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_SEQPACKET)
                say(sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
                """)
            let ending = try supervise([], command)
            #expect(ending.exitCode == 0)
            #expect(ending.output == "True True\n[0, 1, 2, 3]\n")
        }

        @Test("A client of twenty lines of Python is pinged and answers")
        func foreignClient() throws {
            let run = try Supervision(["--ping", "20ms", "--update", "5s"], Self.client)
            try run.line("answered 5")
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.termination == "terminated")
            #expect(ending.summary?.launch?.source == "channel")
            #expect(ending.summary?.pings.count ?? 0 >= 5)
            #expect(ending.summary?.pings.strayAnswers == 0)
            #expect(ending.output.hasSuffix("told to terminate\n"))
        }

        @Test("A client that stops answering is killed, and the report has its summary")
        func silentClient() throws {
            let ending = try supervise(["--ping", "20ms", "--update", "600ms"], Self.client + ["3"])
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "scene-update")
            #expect(ending.summary?.summary == "answers 3 pings")
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.summary == "answers 3 pings")
            #expect(report.body.linux?.pings?.answered == 3)
            // The allowance runs from the ping that nobody answered.
            let linux = try #require(report.body.linux)
            let sinceLastPing = try #require(linux.pings?.sinceLastPingNanoseconds)
            #expect(abs(sinceLastPing - linux.allowance.elapsedNanoseconds) < 100_000_000)
            #expect(sinceLastPing < linux.pings?.sinceLastAnswerNanoseconds ?? 0)
            expectPatience(report)
        }

        @Test("An answer to a ping that was never sent is none")
        func invention() throws {
            let command = python(
                """
                end = channel()
                end.send(b"HELLO=1\\nREADY=1")
                while True:
                    end.send(b"PONG=1")
                    time.sleep(0.05)
                """)
            let ending = try supervise(["--update", "600ms"], command)
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.pings.count == 0)
            #expect(ending.summary?.pings.strayAnswers ?? 0 > 3)
        }

        @Test("An app that closes its end of the channel is still expected to answer")
        func closed() throws {
            let command = python(
                """
                end = channel()
                end.send(b"HELLO=1\\nREADY=1")
                end.recv(4096)
                end.close()
                hang()
                """)
            let ending = try supervise(["--update", "600ms"], command)
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "scene-update")
        }

        @Test("EXTEND_TIMEOUT_USEC with progress covers long work on the main loop")
        func extended() throws {
            let command = python(
                """
                end = channel()
                end.send(b"HELLO=1\\nREADY=1")
                for step in range(5):
                    end.send(f"EXTEND_TIMEOUT_USEC=1500000\\nPROGRESS={step}".encode())
                    time.sleep(0.3)
                """)
            #expect(try supervise(["--update", "600ms"], command).exitCode == 0)
        }
    }
}
