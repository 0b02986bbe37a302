// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Injected faults")
    struct FaultTests {
        private static let python = "/usr/bin/python3"
        private static let allocating = [python, "-c", "block = bytearray(300 << 20)"]

        @Test("A program stopped for longer than its allowance survives, and the summary states when")
        func stop() throws {
            let run = try Supervision(
                ["--update", "1s", "--ping", "100ms", "--fault", "stop 1500ms at ready+200ms"], [product("HealthyApp")])
            try run.line("injecting stop 1.5s at ready+200ms", on: .errors)
            try run.line("HealthyApp is stopped by a signal; its allowances are paused", on: .errors)
            try run.line("HealthyApp is running again after", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.incidents.isEmpty == true)
            let faults = try #require(ending.summary?.faults)
            #expect(faults.map(\.fault) == ["stop 1.5s at ready+200ms"])
            #expect(faults.first?.milliseconds ?? 0 >= 200)
        }

        @Test("An injected stop of a program that has the terminal does not stop watchdogd with it")
        func stopOnTerminal() throws {
            // The first process of a session with a terminal, as in a container with -t: no shell would continue it.
            let terminal = """
                import os, pty, sys
                process, master = pty.fork()
                if process == 0:
                    os.execv(sys.argv[1], sys.argv[1:])
                try:
                    while os.read(master, 4096): pass
                except OSError:
                    pass
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
                """
            let run = try Program([
                Self.python, "-c", terminal, product("watchdogd"), "run", "--reports", "none", "--readiness", "none",
                "--fault", "stop 300ms at launch", "--", "/bin/sleep", "1",
            ])
            #expect(try run.end().code == 0)
        }

        @Test("A crash log names the injected fault")
        func report() throws {
            let ending = try supervise(
                ["--update", "1s", "--ping", "100ms", "--fault", "cpu 1 for 300ms", "--fault", "cpu 1 at +1h"],
                [product("HangMain"), "--how", "sleep", "--after", "0.1"])
            #expect(ending.exitCode == 137)
            let information =
                try #require(ending.reports.first).body
                .applicationSpecificInformation?["watchdogd"] ?? []
            #expect(information.filter { $0.hasPrefix("Fault: ") } == ["Fault: cpu 1 at launch for 300ms (injected)"])
            #expect(ending.summary?.faults?.last?.milliseconds == nil, "that one never began")
        }

        @Test("The processes of a fault exit with watchdogd")
        func spinners() throws {
            let run = try Supervision(["--fault", "cpu 2 at launch", "--readiness", "none"], ["/bin/sleep", "1000"])
            var spinners: [Int32] = []
            #expect(
                eventually {
                    spinners = self.spinners(of: run.program.pid)
                    return spinners.count == 2
                })
            try run.send(SIGTERM)
            _ = try run.end()
            #expect(spinners.allSatisfy { !isSpinner($0) })
        }

        private func spinners(of watchdogd: Int32) -> [Int32] {
            let children = contents(of: "/proc/\(watchdogd)/task/\(watchdogd)/children") ?? []
            return String(decoding: children, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
                .filter(isSpinner)
        }

        private func isSpinner(_ process: Int32) -> Bool {
            guard let stat = contents(of: "/proc/\(process)/stat").map({ String(decoding: $0, as: UTF8.self) }) else {
                return false
            }
            return stat.contains("(watchdogd-fault)") && !stat.contains(") Z ")
        }

        @Test("A program that needs more memory than the fault leaves fails; with enough memory it succeeds")
        func memory() throws {
            #expect(try supervise(["--fault", "memory 128M"], Self.allocating).exitCode != 0)
            #expect(try supervise(["--fault", "memory 4G"], Self.allocating).exitCode == 0)
        }

        /// Writes until that fails, then until it succeeds again.
        private static let writing = """
            import errno, os, sys, time
            folder = sys.argv[1]
            print("begins with", os.listdir(folder), flush=True)
            was_full = False
            while True:
                try:
                    with open(folder + "/log", "ab", buffering=0) as log: log.write(b"x" * 8192)
                    if was_full: sys.exit(0)
                except OSError as error:
                    if error.errno != errno.ENOSPC: raise
                    was_full = True
                time.sleep(0.05)
            """

        @Test("A full disk rejects writes for its duration, and only for the program", .enabled(if: Self.mayMount))
        func diskFull() throws {
            let scratch = try Scratch()
            let folder = scratch["data"]
            try #require(mkdir(folder, 0o755) == 0)
            try #require(close(creat("\(folder)/kept", 0o644)) == 0)
            let ending = try supervise(
                ["--readiness", "none", "--fault", "disk-full \(folder) at ready+100ms for 500ms"],
                [Self.python, "-c", Self.writing, folder])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.faults?.first?.milliseconds ?? 0 >= 100)
            #expect(ending.output.contains("begins with []"))
            #expect(names(in: folder) == ["kept"])
        }

        @Test(
            "A disk that cannot be mounted ends watchdogd before the launch",
            arguments: [("/nonexistent", "No such file or directory"), ("/etc/passwd", "Not a directory")])
        func noDisk(path: String, words: String) throws {
            let scratch = try Scratch()
            let program = try Program(
                [
                    product("watchdogd"), "run", "--fault", "disk-full \(path)", "--", "/usr/bin/touch",
                    scratch["launched"],
                ])
            #expect(try program.end().code == 69)
            if Self.mayMount { #expect(program.text(.errors).contains(words)) }
            #expect(scratch.read("launched") == nil)
        }

        @Test(
            "A disk that would hide watchdogd's own files ends it before the launch", .enabled(if: Self.mayMount),
            arguments: ["--json", "--trace", "--history"])
        func diskOverOutput(option: String) throws {
            let scratch = try Scratch()
            let program = try Program(
                [product("watchdogd"), "run", "--fault", "disk-full \(scratch.path)", option, scratch["out"], "--"]
                    + ["/bin/true"])
            #expect(try program.end().code == 64)
            #expect(program.text(.errors).contains("watchdogd writes \(scratch["out"])"))
        }

        @Test("Links, dots and slashes do not hide watchdogd's own files", .enabled(if: Self.mayMount))
        func diskOverLink() throws {
            let scratch = try Scratch()
            let folder = try scratch.makeDirectory("disk")
            let link = scratch["link"]
            #expect(symlink(folder, link) == 0)
            for path in ["\(link)/out", "\(folder)/../disk//out", "\(link)/new/out"] {
                let program = try Program(
                    [product("watchdogd"), "run", "--fault", "disk-full \(folder)", "--trace", path, "--", "/bin/true"])
                #expect(try program.end().code == 64, "\(path): \(program.text(.errors))")
            }
        }

        @Test("An app that participates hangs on request, and is killed after its allowance")
        func mainHang() throws {
            let ending = try supervise(
                ["--update", "500ms", "--ping", "100ms", "--fault", "main-hang 60s at ready+100ms"],
                [product("HealthyApp")])
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            #expect(report.faultingStack?.calls.contains { $0.name.contains("HangOnDemand.block(for:)") } == true)
        }

        @Test("An app survives a short hang, and a hang that the app does not perform is reported as incomplete")
        func shortHang() throws {
            let ending = try supervise(
                ["--update", "20s", "--ping", "50ms", "--for", "3s", "--fault", "main-hang 300ms"]
                    + ["--expect", "no incident"],
                [product("HealthyApp")])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.faults?.first?.failure == nil)
            #expect(ending.summary?.faults?.first?.milliseconds != nil, "it began")
            let deaf = try supervise(
                ["--readiness", "none", "--for", "300ms", "--fault", "main-hang 300ms at launch"],
                ["/bin/sleep", "600"])
            #expect(deaf.summary?.faults?.first?.failure?.contains("did not send FAULTS=1") == true, "\(deaf.errors)")
        }

        @Test("A script injects a fault at its step")
        func script() throws {
            let scratch = try Scratch()
            let text = "launch\nwait ready\nfault main-hang 60s\nexpect killed 0x8badf00d:scene-update\n"
            try scratch.write(text, to: "hang.wds")
            let ending = try supervise(
                ["--update", "500ms", "--ping", "100ms", "--script", scratch["hang.wds"]], [product("HealthyApp")])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.faults?.map(\.fault) == ["main-hang 1min at ready"])
        }

        @Test("watchdogd kills itself, and the app keeps running")
        func killWatchdogd() throws {
            let scratch = try Scratch()
            let program = try Program(
                [product("watchdogd"), "run", "--readiness", "exec:test -e \(scratch["started"])"]
                    + ["--fault", "kill-watchdogd", "--", "/bin/sh", "-c"]
                    // The shell records its parent when it starts, so watchdogd must still exist then.
                    + [
                        "touch \(scratch["started"]); while kill -0 $PPID; do sleep 0.02; done; "
                            + "touch \(scratch["lives"])"
                    ])
            let end = try program.end()
            #expect("\(end)".contains("signaled") && end.code == nil, "\(end)")
            #expect(eventually { scratch.exists("lives") })
        }

        /// In a namespace with an offset, the kernel shifts the clocks of new processes: time_namespaces(7).
        private static var mayMoveClocks: Bool {
            let program = try? Program(["/usr/bin/unshare", "--map-root-user", "--time", "/bin/true"])
            return (try? program?.end().code) == 0
        }

        @Test("The app's monotonic clock is ahead, but its signposts are not", .enabled(if: Self.mayMoveClocks))
        func clock() throws {
            let words = "import time; print(int(time.monotonic()), int(time.time()))"
            let ending = try supervise(
                ["--readiness", "none", "--fault", "clock +50d"], [Self.python, "-c", words])
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            let times = ending.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            try #require(times.count == 2, "\(ending.output)\(ending.errors)")
            #expect(abs(times[0] - now.tv_sec - 50 * 86_400) < 60)
            #expect(abs(times[1] - Glibc.time(nil)) < 60, "the wall clock is the machine's")
        }

        /// Reads a file past the page cache in pieces, and prints the time.
        private static let reading = """
            import mmap, os, sys, time
            # watchdogd may have to move this process into the cgroup first.
            time.sleep(1)
            try: file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
            except OSError as error: sys.exit(print("no O_DIRECT:", error) or 3)
            block = mmap.mmap(-1, 65536)
            start = time.monotonic()
            while os.readv(file, [block]): pass
            print(time.monotonic() - start)
            """

        @Test("A slow disk delivers at its rate, if this machine can slow it down")
        func slowDisk() throws {
            // /tmp need not be on a disk, and ordinary users may not slow one down.
            let scratch = try Scratch()
            let folder = hasAllRights ? FileManager.default.currentDirectoryPath + "/.build" : scratch.path
            let path = "\(folder)/io-slow-\(getpid())"
            defer { unlink(path) }
            try Data(repeating: 7, count: 1 << 20).write(to: URL(fileURLWithPath: path))
            sync()
            let ending = try supervise(
                ["--readiness", "none", "--fault", "io-slow 512K"], [Self.python, "-c", Self.reading, path])
            guard ending.exitCode == 0 else {
                let isRefused = ending.errors.contains { $0.contains("cannot slow disks down") }
                let lacksDirect = ending.output.hasPrefix("no O_DIRECT:")
                #expect(ending.exitCode == 69 && isRefused || ending.exitCode == 3 && lacksDirect, "\(ending.errors)")
                print("skipped: \(ending.errors.last ?? "")\(ending.output)")
                return
            }
            let seconds = try #require(Double(ending.output.filter { !$0.isWhitespace }))
            #expect(seconds >= 1, "1 MiB at 512 KiB/s")
        }

        /// Loads a page over the machine's loopback interface, and prints the time in milliseconds.
        private static let fetching = """
            import sys, time, urllib.request
            start = time.monotonic()
            body = urllib.request.urlopen(sys.argv[1], timeout=60).read()
            print(int((time.monotonic() - start) * 1000), len(body))
            """

        /// The time of a fetch through a link, in milliseconds; nil if this machine permits no such link.
        private func fetch(_ fault: String) throws -> Int? {
            let server = try Program([Self.python, "-u", "-c", Self.serving])
            let port = try server.line()
            defer { withExtendedLifetime(server) {} }
            let page = "http://10.0.2.2:\(port)/"
            let ending = try supervise(
                ["--readiness", "none", "--fault", fault], [Self.python, "-c", Self.fetching, page])
            if ending.exitCode == 69 {
                #expect(ending.errors.contains { $0.contains("--fault network") }, "\(ending.errors)")
                #expect(!Self.mayLink, "\(ending.errors)")
                print("skipped: \(ending.errors.last ?? "")")
                return nil
            }
            let numbers = ending.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            try #require(numbers.count == 2 && numbers[1] == 20_000, "\(ending.output)\(ending.errors)")
            return numbers[0]
        }

        private static let serving = """
            import http.server
            class Page(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(b"x" * 20000)
                def log_message(self, *_): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Page)
            print(server.server_port)
            server.serve_forever()
            """

        @Test(
            "A program without a proxy setting uses the fault's network until it ends",
            arguments: [("network 3g", 600), ("network cut 3s at launch", 200)])
        func network(fault: String, least: Int) throws {
            guard let time = try fetch(fault), let usual = try fetch("network dns-delay 1ms") else { return }
            #expect(time >= least)
            #expect(time > usual)
        }

        /// Whether root can create a link here: there are a device and the library.
        private static var mayLink: Bool {
            isRoot && mayMount && access("/dev/net/tun", R_OK | W_OK) == 0
                && access("/usr/lib/x86_64-linux-gnu/libslirp.so.0", R_OK) == 0
        }

        @Test("A name server answers late")
        func lateNameServer() throws {
            let words = """
                import socket, time
                start = time.monotonic()
                try: socket.getaddrinfo("nonexistent.invalid", 80)
                except OSError: pass
                print(int((time.monotonic() - start) * 1000))
                """
            let times = try ["700ms", "1ms"].map { delay in
                let ending = try supervise(
                    ["--readiness", "none", "--fault", "network dns-delay \(delay)"], [Self.python, "-c", words])
                #expect(ending.exitCode == 0 || (ending.exitCode == 69 && !Self.mayLink), "\(ending.errors)")
                return Int(ending.output.filter(\.isNumber))
            }
            guard let late = times[0], let usual = times[1] else {
                print("skipped: there is no link here")
                return
            }
            #expect(late >= 700)
            // If this machine's own name server does not answer, both take as long as the resolver waits.
            if usual < 1_000 { #expect(late - usual >= 500) }
        }

        @Test("An unknown network is rejected with a list of the known ones")
        func noNetwork() throws {
            let program = try Program([product("watchdogd"), "run", "--fault", "network 5g", "--", "/bin/true"])
            #expect(try program.end().code == 64)
            #expect(program.text(.errors).contains("unknown profile '5g'; use one of"), "\(program.text(.errors))")
        }

        /// Containers may forbid both kinds of namespaces.
        private static var mayMount: Bool {
            let program = try? Program(["/usr/bin/unshare", "--map-root-user", "--mount", "/bin/true"])
            return (try? program?.end().code) == 0
        }

        @Test(
            "An invalid fault ends watchdogd before the launch",
            arguments: [("memroy 1", "did you mean memory?"), ("cpu 0", "cpu 4"), ("stop 2s at noon", "at ready")])
        func refused(fault: String, words: String) throws {
            let scratch = try Scratch()
            let program = try Program(
                [product("watchdogd"), "run", "--fault", fault, "--", "/usr/bin/touch", scratch["launched"]])
            #expect(try program.end().code == 64)
            #expect(program.text(.errors).contains(words), "\(program.text(.errors))")
            #expect(!scratch.exists("launched"))
        }
    }
}
