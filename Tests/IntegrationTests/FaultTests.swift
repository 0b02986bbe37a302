// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Faults on demand")
    struct FaultTests {
        private static let python = "/usr/bin/python3"
        private static let allocating = [python, "-c", "block = bytearray(300 << 20)"]

        @Test("A program that is stopped for longer than its allowance lives on, and the summary says when it was")
        func stop() throws {
            let run = try Supervision(
                ["--update", "1s", "--ping", "100ms", "--fault", "stop 1500ms at ready+200ms"], [product("HealthyApp")])
            try run.line("injects the fault stop 1.5s at ready+200ms", on: .errors)
            try run.line("HealthyApp is stopped by a signal; its allowances are paused", on: .errors)
            try run.line("HealthyApp is running again after", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.incidents.isEmpty == true)
            let faults = try #require(ending.summary?.faults)
            #expect(faults.map(\.fault) == ["stop 1.5s at ready+200ms"])
            #expect(faults.first?.milliseconds ?? 0 >= 200)
        }

        @Test("A crash log says which fault was injected")
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

        @Test("The processes of a fault end with watchdogd")
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

        @Test("A program that needs more memory than the fault leaves fails; with enough it does not")
        func memory() throws {
            #expect(try supervise(["--fault", "memory 128M"], Self.allocating).exitCode != 0)
            #expect(try supervise(["--fault", "memory 4G"], Self.allocating).exitCode == 0)
        }

        /// Writes until it cannot, then until it can again.
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

        @Test("A full disk refuses writes for its time, and nobody else sees it", .enabled(if: Self.mayMount))
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
            #expect(try program.end(within: .seconds(60)).code == 69)
            if Self.mayMount { #expect(program.text(.errors).contains(words)) }
            #expect(scratch.read("launched") == nil)
        }

        @Test(
            "A disk over what watchdogd writes ends it before the launch", .enabled(if: Self.mayMount),
            arguments: ["--json", "--trace", "--history"])
        func diskOverOutput(option: String) throws {
            let scratch = try Scratch()
            let program = try Program(
                [product("watchdogd"), "run", "--fault", "disk-full \(scratch.path)", option, scratch["out"], "--"]
                    + ["/bin/true"])
            #expect(try program.end(within: .seconds(60)).code == 64)
            #expect(program.text(.errors).contains("watchdogd writes \(scratch["out"])"))
        }

        @Test("A link, dots and slashes do not hide what watchdogd writes", .enabled(if: Self.mayMount))
        func diskOverLink() throws {
            let scratch = try Scratch()
            let folder = try scratch.makeDirectory("disk")
            let link = scratch["link"]
            #expect(symlink(folder, link) == 0)
            for path in ["\(link)/out", "\(folder)/../disk//out", "\(link)/new/out"] {
                let program = try Program(
                    [product("watchdogd"), "run", "--fault", "disk-full \(folder)", "--trace", path, "--", "/bin/true"])
                #expect(try program.end(within: .seconds(60)).code == 64, "\(path): \(program.text(.errors))")
            }
        }

        /// Containers may forbid both kinds of namespaces.
        private static var mayMount: Bool {
            let program = try? Program(["/usr/bin/unshare", "--map-root-user", "--mount", "/bin/true"])
            return (try? program?.end(within: .seconds(60)).code) == 0
        }

        @Test(
            "A fault that is not one ends watchdogd before the launch",
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
