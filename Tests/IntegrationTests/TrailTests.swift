// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("The trail of the main thread's wait")
    struct TrailTests {
        private static let launch = ["--readiness", "notify", "--launch", "1500ms", "--name", "web"]

        private func information(_ report: Report) -> [String] {
            report.body.applicationSpecificInformation?["watchdogd"] ?? []
        }

        /// Checks that all forms of a report name the cause, and returns its line.
        private func cause(_ ending: Ending) throws -> String {
            let report = try #require(ending.reports.first)
            let line = try #require(report.body.linux?.trail?.line, "\(information(report))")
            #expect(information(report).contains("Cause: \(line)"))
            let path = try #require(ending.reportPaths.first)
            func output(_ arguments: String...) throws -> String {
                let program = try Program([product("watchdogd"), "report"] + arguments)
                try program.end()
                return program.text(.output)
            }
            let words = try output("explain", path).split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains("Cause \(line)."), "\(words)")
            #expect(try output("explain", "--json", path).contains("\"cause\""))
            let page = try output("export", "--format", "html", path)
            #expect(page.contains("<p class=\"cause\"><strong>Cause:</strong> web waits for "), "\(page.prefix(200))")
            return line
        }

        @Test(
            "a client of a redis that runs a script names redis and the script",
            .enabled(if: isRoot && isInstalled("redis-server"), "needs root and redis"))
        func redis() throws {
            let scratch = try Scratch()
            let socket = scratch["redis"]
            let redis = try Program([
                "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", scratch.path,
            ])
            defer { try? redis.send(SIGKILL) }
            let client = python(
                """
                import socket, time
                while True:
                    try:
                        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); break
                    except OSError: time.sleep(0.05)
                s.sendall(b'EVAL "while true do end" 0\\r\\n')
                s.recv(1)
                """, socket)
            let line = try cause(try supervise(Self.launch, client))
            #expect(
                line == "web waits for a reply of redis-server (pid \(redis.pid)), which runs a Lua script", "\(line)")
        }

        @Test("a chain of three processes ends at the one that sleeps, whose stack is in the report")
        func chain() throws {
            let scratch = try Scratch()
            let holder = try Program(
                python(
                    """
                    import fcntl, time
                    def vacuum(): time.sleep(1000)
                    f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); say('locked'); vacuum()
                    """, scratch["store"]))
            try holder.line("locked")
            let server = try Program(
                python(
                    """
                    import fcntl, socket
                    s = socket.create_server(('127.0.0.1', 0)); say(s.getsockname()[1])
                    c, _ = s.accept(); c.recv(1); fcntl.lockf(open(sys.argv[1], 'w'), fcntl.LOCK_EX)
                    """, scratch["store"]))
            let port = try server.line()
            let client = python(
                "import socket; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.send(b'?'); s.recv(1)",
                port)
            let ending = try supervise(Self.launch, client)
            let line = try cause(ending)
            let way =
                "web waits for a reply of python3 (pid \(server.pid)), which waits for a record lock held by "
                + "python3 (pid \(holder.pid)), which sleeps"
            #expect(line.hasPrefix(way), "\(line)")
            let linux = try #require(ending.reports.first?.body.linux)
            #expect(linux.trail?.root == Int(holder.pid))
            #expect(linux.trailProcesses?.map(\.pid) == [Int(server.pid), Int(holder.pid)])
            #expect(linux.trailProcesses?.allSatisfy { $0.threads.first?.frames.isEmpty == false } == true)
            for program in [holder, server] { #expect(kill(program.pid, 0) == 0) }
        }

        @Test(
            "an ordinary user's watchdogd names a process that it may not read, and reports that",
            .enabled(if: isRoot, "needs a process of somebody else"))
        func refused() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o777)
            let holder = try Program(
                python(
                    """
                    import fcntl, os, time
                    f = open(sys.argv[1], 'w'); os.chmod(sys.argv[1], 0o666); fcntl.flock(f, fcntl.LOCK_EX)
                    say('locked'); time.sleep(1000)
                    """, scratch["store"]))
            try holder.line("locked")
            let client = python("import fcntl; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)", scratch["store"])
            let runtime = try scratch.makeDirectory("own", mode: 0o700)
            chown(runtime, 65_534, 65_534)
            let ending = try Supervision(
                Self.launch, client, environment: ["XDG_RUNTIME_DIR": runtime], wrapper: ordinaryUser, scratch: scratch
            ).end()
            let line = try cause(ending)
            #expect(
                line
                    == "web waits for a file lock held by python3 (pid \(holder.pid)), which watchdogd may not look at")
            #expect(ending.reports.first?.body.linux?.trailProcesses == nil)
        }

        @Test(
            "for a process that the app's user may not read, root's watchdogd reports only name and state",
            .enabled(if: hasAllRights, "needs root"))
        func outside() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o711)
            let server = try Program(
                python(
                    """
                    import socket, time
                    s = socket.create_server(('127.0.0.1', 0)); say(s.getsockname()[1])
                    c, _ = s.accept(); c.recv(1); time.sleep(1000)
                    """))
            let port = try server.line()
            let client = python(
                "import socket; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.send(b'?'); s.recv(1)",
                port)
            let ending = try Supervision(Self.launch + ["--user", "nobody"], client, scratch: scratch).end()
            let line = try cause(ending)
            #expect(
                line
                    == "web waits for a reply of python3 (pid \(server.pid)), which is asleep, and which the app's user "
                    + "may not look at")
            #expect(ending.reports.first?.body.linux?.trailProcesses == nil)
        }
    }
}
