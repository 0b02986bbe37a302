// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Hostile floods from programs")
    struct FloodTests {
        @Test("Ten thousand messages a second on the notify socket, signs of life among them, kill nobody")
        func notifyFlood() throws {
            let command = python(
                """
                sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                sender.connect(os.environ["NOTIFY_SOCKET"])
                sender.send(b"READY=1")
                sender.setblocking(False)
                end = time.monotonic() + 2
                while time.monotonic() < end:
                    for _ in range(20):
                        try: sender.send(b"STATUS=very busy\\nWATCHDOG=1")
                        except BlockingIOError: pass
                    time.sleep(0.002)
                """)
            let run = try Supervision(["--update", "500ms"], command)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("A flood without signs of life does not delay the kill")
        func floodAndHang() throws {
            let command = python(
                """
                sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                sender.connect(os.environ["NOTIFY_SOCKET"])
                sender.send(b"READY=1\\nWATCHDOG=1")
                while True:
                    sender.send(b"STATUS=never mind")
                """)
            let ending = try supervise(["--update", "600ms"], command)
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            expectPatience(report)
            let allowance = try #require(report.body.linux?.allowance)
            let due = allowance.nanoseconds + allowance.creditNanoseconds
            #expect(allowance.elapsedNanoseconds - due < 10_000_000_000)
        }

        @Test("The messages that a program can cause are limited, and the omitted ones are counted")
        func chatter() throws {
            let command = python(
                """
                notify("READY=1", "WATCHDOG=1")
                for _ in range(400): notify("EXTEND_TIMEOUT_USEC=1000")
                barrier()
                exit(0)
                """)
            let ending = try supervise(["--update", "20s"], command)
            #expect(ending.exitCode == 0)
            #expect(ending.messages.count < 120)
            #expect(ending.messages.last?.contains("messages dropped") == true)
        }

        @Test("A flood on the channel leaves room for answers, and nobody is killed")
        func channelFlood() throws {
            let command = python(
                """
                end = channel()
                end.send(b"HELLO=1\\nREADY=1")
                end.setblocking(False)
                over = time.monotonic() + 2
                count = answers = 0
                while time.monotonic() < over:
                    try:
                        message = end.recv(4096)
                        if message.startswith(b"PING="):
                            end.setblocking(True)
                            end.send(b"PONG=" + message[5:].strip())
                            end.setblocking(False)
                            answers += 1
                    except BlockingIOError: pass
                    try:
                        end.send(b"STATUS=%d" % count)
                        count += 1
                    except BlockingIOError: pass
                say(count, answers)
                """)
            let ending = try supervise(["--update", "1s", "--ping", "100ms"], command)
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.isEmpty == true)
            #expect(ending.summary?.pings.count ?? 0 > 3)
        }

        @Test("Descriptors that cannot be closed use only a share of watchdogd's, and it writes its report")
        func descriptorFlood() throws {
            let command = python(
                """
                import struct
                notify("READY=1", "WATCHDOG=1")
                # A connection whose last close takes a minute: SO_LINGER, socket(7).
                def lingering():
                    listener = socket.create_server(("127.0.0.1", 0))
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    connection = socket.create_connection(listener.getsockname())
                    peer = listener.accept()[0]
                    connection.setblocking(False)
                    try:
                        while True: connection.send(bytes(65536))
                    except BlockingIOError: pass
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
                    connection.setblocking(True)
                    return connection, peer, listener
                kept = [lingering() for _ in range(8)]
                sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                sender.connect(os.environ["NOTIFY_SOCKET"])
                sender.setblocking(False)
                for connection, _, _ in kept:
                    # While watchdogd reads these, it gets the last reference to the connection.
                    try:
                        for _ in range(400): sender.send(b"STATUS=busy")
                    except BlockingIOError: pass
                    notify("STATUS=here", descriptors=[connection.fileno()])
                    threading.Thread(target=connection.close, daemon=True).start()
                time.sleep(0.5)
                nothing = os.open("/dev/null", os.O_RDONLY)
                sender.setblocking(False)
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [nothing] * 200))]
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    try: sender.sendmsg([b"WATCHDOG=1"], rights)
                    except OSError: time.sleep(0.01)
                say("passed")
                hang()
                """)
            let run = try Supervision(
                ["--update", "2s", "--enforce", "report"], command, wrapper: ["prlimit", "--nofile=1024:"])
            try run.line("passed")
            #expect(names(in: "/proc/\(run.program.pid)/fd").count < 512)
            try run.line("] reported: did not answer within", on: .errors)
            try run.send(SIGTERM)
            #expect(try run.end().reports.count == 1)
        }

        @Test("Garbage on both sockets changes nothing")
        func garbage() throws {
            let command = python(
                """
                import random
                random.seed(4711)
                end = channel()
                for _ in range(2000):
                    noise = random.randbytes(random.choice([1, 3, 50, 4096]))
                    notify(noise)
                    end.send(noise)
                notify("READY=1")
                time.sleep(0.5)  # Of a flood, only signs of life and readiness are heeded.
                notify("STATUS=still here")
                time.sleep(0.3)
                exit(11)
                """)
            let ending = try supervise(["--update", "20s"], command)
            #expect(ending.exitCode == 11)
            #expect(ending.summary?.incidents.isEmpty == true)
            #expect(ending.summary?.status == "still here")
        }

        @Test("A program's text cannot inject lines or escape sequences into the terminal or the report's text")
        func escapes() throws {
            let command = python(
                #"""
                notify(b"READY=1\nWATCHDOG=1\nSTATUS=a\x1b[2Jb\rc")
                channel().send(b"SUMMARY=x\x1b]0;title\x07y")
                hang()
                """#)
            let ending = try supervise(["--update", "500ms"], command)
            #expect(ending.exitCode == 137)
            #expect(!ending.errors.joined().unicodeScalars.contains("\u{1b}"))
            let shown = try Program([product("watchdogd"), "report", "show", try #require(ending.reportPaths.first)])
            try shown.end()
            #expect(!shown.text(.output).isEmpty)
            #expect(!shown.text(.output).unicodeScalars.contains("\u{1b}"))
            #expect(!shown.text(.output).unicodeScalars.contains("\r"))
        }

        @Test("A program that forks endlessly is killed with all its descendants")
        func forks() throws {
            let command = python(
                """
                notify("READY=1", "WATCHDOG=1")
                for _ in range(60):
                    if os.fork() == 0:
                        if os.fork() == 0: os.setsid()
                        hang()
                say("forked")
                hang()
                """)
            let run = try Supervision(["--update", "3s"], command)
            try run.line("forked")
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.isDeathVerified == true)
        }

        @Test(
            "A program that forks endlessly is killed with all its descendants, even without cgroups",
            .enabled(if: hasAllRights, "an ordinary user has none: see the test before"))
        func forksWithoutCgroups() throws {
            let command = python(
                """
                notify("READY=1", "WATCHDOG=1")
                for _ in range(60):
                    if os.fork() == 0:
                        if os.fork() == 0: os.setsid()
                        hang()
                say("forked")
                hang()
                """)
            let run = try Supervision(["--update", "3s"], command, wrapper: try withoutCgroups())
            try run.line("forked")
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.isDeathVerified == true)
        }
    }
}
