// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogReport

extension EndToEnd {
    @Suite("Programs that implement the channel's protocol themselves")
    struct ChannelTests {
        private static let client = ["/usr/bin/python3", "\(subjects)/channel_client.py"]

        @Test("The channel is an inherited SOCK_SEQPACKET socket, and no other descriptor is inherited")
        func descriptor() throws {
            let command = python(
                """
                end = channel()
                say(end.family == socket.AF_UNIX, end.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_SEQPACKET)
                say(sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
                """)
            let ending = try supervise(unhurried(), command)
            #expect(ending.exitCode == 0)
            #expect(ending.output == "True True\n[0, 1, 2, 3]\n")
        }

        @Test("A client of twenty lines of Python is pinged and answers")
        func foreignClient() throws {
            let run = try Supervision(unhurried(["--ping", "20ms"]), Self.client)
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
            // The allowance runs from the unanswered ping.
            let linux = try #require(report.body.linux)
            let sinceLastPing = try #require(linux.pings?.sinceLastPingNanoseconds)
            #expect(abs(sinceLastPing - linux.allowance.elapsedNanoseconds) < 1_000_000_000)
            #expect(sinceLastPing < linux.pings?.sinceLastAnswerNanoseconds ?? 0)
            expectPatience(report)
        }

        @Test("Tasks that extend a launch and its first use are measured separately, and reported")
        func launchMarks() throws {
            let command = python(
                """
                end = channel()
                def step(text):
                    end.send(text.encode())
                    time.sleep(0.1)
                step("HELLO=1\\nBEGIN_LAUNCH_TASK=rows\\nBEGIN_LAUNCH_TASK=plots\\nFIRST_FRAME=1")
                step("READY=1\\nEND_LAUNCH_TASK=rows")
                step("END_LAUNCH_TASK=plots")
                step("USEFUL=1\\nBEGIN_LAUNCH_TASK=late")
                """)
            let ending = try supervise(["--verbose"], command)
            #expect(ending.exitCode == 0)
            let launch = try #require(ending.summary?.launch)
            let firstFrame = try #require(launch.firstFrameMilliseconds)
            let extended = try #require(launch.extendedMilliseconds)
            let useful = try #require(launch.usefulMilliseconds)
            #expect(firstFrame < launch.milliseconds && launch.milliseconds < extended && extended < useful)
            #expect(launch.tasks?.map(\.name) == ["rows", "plots"])
            #expect(launch.tasks?.allSatisfy { $0.milliseconds ?? 0 >= 90 } == true)
            for words in ["showed its first frame after", "ended its 2 launch tasks after", "useful after"] {
                #expect(ending.errors.contains { $0.contains("python3 \(words)") }, "\(ending.errors)")
            }
            #expect(ending.errors.contains { $0.hasPrefix("tasks  rows") }, "\(ending.errors)")
        }

        @Test("A launch task does not extend the launch allowance")
        func launchTaskIsNoExcuse() throws {
            let command = python(
                """
                end = channel()
                end.send(b"HELLO=1\\nBEGIN_LAUNCH_TASK=rows")
                end.send(f"SIGNPOST=begin 1 {time.monotonic_ns()} main app\\tphotos".encode())
                hang()
                """)
            let ending = try supervise(["--launch", "500ms", "--show-launch", "--no-record-launches"], command)
            #expect(ending.exitCode == 137)
            let launch = try #require(ending.reports.first?.body.linux?.launch)
            #expect(!launch.isReady && launch.nanoseconds >= 500_000_000)
            #expect(launch.phases.map(\.name) == ["exec", "hello", "ready"])
            #expect(launch.phases.allSatisfy { $0.runningNanoseconds == nil } && launch.unrecorded == nil)
            #expect(launch.signposts.map(\.name) == ["photos"] && launch.signposts.allSatisfy(\.isOpen))
            #expect(launch.tasks.map(\.name) == ["rows"] && launch.tasks.allSatisfy(\.isOpen))
            #expect(ending.errors.contains { $0.hasPrefix("launch of python3: killed after ") }, "\(ending.errors)")
            #expect(ending.errors.contains { $0.hasPrefix("tasks  rows") }, "\(ending.errors)")
        }

        @Test("An answer to a ping that was never sent does not count")
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

        @Test("An app that closes its end of the channel must still answer")
        func closed() throws {
            let command = python(
                """
                end = channel()
                end.send(b"HELLO=1\\nREADY=1")
                end.recv(4096)
                end.close()
                hang()
                """)
            let ending = try supervise(unhurried(["--update", "600ms"]), command)
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
