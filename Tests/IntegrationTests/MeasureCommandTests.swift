// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import ReportFixtures
import Testing
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd measure")
    struct MeasureCommandTests {
        typealias Answer = (code: Int32, output: String, errors: String)

        private func measure(_ arguments: [String]) throws -> Answer {
            let program = try Program([product("watchdogd"), "measure"] + arguments)
            let status = try program.end()
            return (status.code ?? -1, program.text(.output), program.text(.errors))
        }

        /// The part of `--json` that the tests read.
        private struct Result: Decodable {
            struct Run: Decodable {
                let program: String
                let number: Int
                let wallNSec: Int64
                let cpuNSec: Int64
                let minorFaults: Int64
            }

            let until: String
            let isUntilChosen: Bool
            let runs: [Run]
        }

        private func json(_ arguments: [String]) throws -> Result {
            let answer = try measure(["--json"] + arguments)
            expectMeasured(answer)
            return try JSONDecoder().decode(Result.self, from: Data(answer.output.utf8))
        }

        /// A measurement without a check ends with 0; with 2 only if under memory pressure every run had to read from a
        /// disk.
        private func expectMeasured(_ answer: Answer) {
            guard answer.code != 0 else { return }
            #expect(answer.code == 2, "\(answer.errors)")
            #expect((answer.output + answer.errors).contains("no run was "), "\(answer.output)\(answer.errors)")
        }

        private static let python = "/usr/bin/python3"

        @Test("A program that exits is measured up to its exit, and every run is in the result")
        func exiting() throws {
            let result = try json(["--runs", "4", "--discard", "2", "--", "/bin/true"])
            #expect(result.until == "exit")
            #expect(result.isUntilChosen)
            #expect(result.runs.prefix(6).map(\.number) == [-1, 0, 1, 2, 3, 4])
            #expect(result.runs.allSatisfy { $0.wallNSec > 0 && $0.cpuNSec > 0 && $0.minorFaults > 10 })
            let text = try measure(["--runs", "2", "--", "/bin/true"])
            #expect(text.output.hasPrefix("/bin/true\n2 runs until it exits (what the first launch did)"))
            #expect(text.errors == "", "no progress without a terminal")
        }

        @Test("READY=1 over the channel ends the launch of an app that keeps running")
        func ready() throws {
            let result = try json(["--runs", "2", "--", product("HealthyApp")])
            #expect(result.until == "ready")
            #expect(result.runs.count >= 3)
        }

        @Test(
            "READY=1, FIRST_FRAME=1 and USEFUL=1 over the notify socket end a launch",
            arguments: ["ready", "first-frame", "useful"])
        func notified(until: String) throws {
            let script = """
                import os, socket, time
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                s.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\\0", 1))
                for word in (b"READY=1", b"FIRST_FRAME=1", b"USEFUL=1"):
                    s.send(word)
                    time.sleep(0.1)
                time.sleep(60)
                """
            let result = try json(["--runs", "1", "--until", until, "--", Self.python, "-c", script])
            #expect(result.until == until)
            #expect(!result.isUntilChosen)
            let index = try #require(["ready", "first-frame", "useful"].firstIndex(of: until))
            #expect(result.runs.allSatisfy { $0.wallNSec >= 100_000_000 * Int64(index) })
        }

        @Test("A server is measured until it listens, with and without a network", arguments: [[], ["--no-network"]])
        func listening(options: [String]) throws {
            let script = """
                import socket, time
                time.sleep(0.1)
                s = socket.socket()
                s.bind(("127.0.0.1", 0))
                s.listen()
                time.sleep(60)
                """
            let result = try json(options + ["--runs", "1", "--", Self.python, "-c", script])
            #expect(result.until == "listen")
            #expect(result.runs.allSatisfy { $0.wallNSec >= 100_000_000 && $0.wallNSec < 60_000_000_000 })
        }

        @Test("A program that waits for events is idle")
        func idle() throws {
            let script = "import select; select.poll().poll(60000)"
            let result = try json(["--runs", "1", "--until", "idle", "--", Self.python, "-c", script])
            #expect(result.runs.allSatisfy { $0.wallNSec < 60_000_000_000 })
        }

        @Test("Leftovers of a program are killed, even if they ignore SIGTERM")
        func nothingLeft() throws {
            let marker = "\(getpid())77"
            let script = "trap '' TERM; /bin/sleep 60.\(marker) & exit 0"
            let answer = try measure(["--runs", "1", "--until", "exit", "--", "/bin/sh", "-c", script])
            expectMeasured(answer)
            try expectNone("^/bin/sleep 60.\(marker)")
        }

        @Test("A program that ignores SIGTERM is killed after five seconds")
        func stubborn() throws {
            let marker = "\(getpid())79"
            let script = """
                trap '' TERM
                \(Self.python) -c 'import os, socket
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                s.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\\0", 1))
                s.send(b"READY=1")'
                exec /bin/sleep 60.\(marker)
                """
            let options = ["--runs", "1", "--discard", "0", "--until", "ready"]
            let answer = try measure(options + ["--", "/bin/sh", "-c", script])
            expectMeasured(answer)
            try expectNone("^/bin/sleep 60.\(marker)")
        }

        private func expectNone(_ pattern: String) throws {
            let search = try Program(["pgrep", "-f", pattern])
            #expect(try search.end().code == 1, "\(search.text(.output))")
        }

        @Test("A program with twice the work is a regression; one with the same work is not")
        func against() throws {
            func code(_ size: Int) -> String { "sum(i * i for i in range(\(size)))" }
            let old = "\(Self.python) -c '\(code(200_000))'"
            let slower = try measure(
                ["--runs", "10", "--against", old, "--", Self.python, "-c", code(2_000_000)])
            #expect(slower.code == 1, "\(slower.output)")
            #expect(slower.output.contains("FAILED  against: CPU time new/old"))
            let faster = try measure(
                ["--runs", "10", "--against", "\(Self.python) -c '\(code(2_000_000))'", "--"]
                    + [Self.python, "-c", code(200_000)])
            #expect(faster.code == 0, "\(faster.output)")
        }

        @Test("Without --runs, the pairs end as soon as the answer is clear, or with the time")
        func adaptive() throws {
            func code(_ size: Int) -> String { "sum(i * i for i in range(\(size)))" }
            let old = "\(Self.python) -c '\(code(200_000))'"
            let slower = try measure(["--against", old, "--", Self.python, "-c", code(2_000_000)])
            #expect(slower.code == 1, "\(slower.output)")
            // A run that has read from the disk leaves out its pair.
            let excluded = slower.output.ranges(of: "; excluded").count
            #expect(slower.output.contains("\(12 + excluded) pairs until it exits"), "\(slower.output)")
            // Seven pairs are made whatever they take.
            let hasty = try measure(["--against", old, "--within", "1ms", "--", Self.python, "-c", code(200_000)])
            #expect(hasty.output.contains(" pairs)"), "\(hasty.output)")
            #expect([0, 2].contains(hasty.code), "\(hasty.output)")
        }

        @Test("--against with one word uses the program's arguments")
        func sameArguments() throws {
            let answer = try measure(["--runs", "7", "--against", "/usr/bin/test", "--", "/bin/test", "1", "=", "1"])
            // Without the arguments it would exit with 1, and measure with 70. Which of the equal two is faster is chance.
            #expect([0, 1, 2].contains(answer.code), "\(answer.errors)")
            #expect(answer.output.contains("against /usr/bin/test 1 = 1\n"))
        }

        @Test("--max fails a launch that takes longer")
        func maximum() throws {
            #expect(try measure(["--runs", "5", "--max", "1ms", "--", "/bin/sleep", "0.05"]).code == 1)
            #expect(try measure(["--runs", "5", "--max", "60s", "--", "/bin/sleep", "0.05"]).code == 0)
        }

        @Test("A baseline is written and read, and fails more page faults; JUnit reports that")
        func baseline() throws {
            let scratch = try Scratch()
            let small = ["--", Self.python, "-c", "b = bytearray(1 << 20)"]
            let large = ["--", Self.python, "-c", "b = bytearray(8 << 20)"]
            let saved = try measure(["--runs", "5", "--save-baseline", scratch["base.json"]] + small)
            #expect(saved.code == 0, "\(saved.errors)")
            #expect(try measure(["--runs", "5", "--baseline", scratch["base.json"]] + small).code == 0)
            let options = ["--runs", "5", "--baseline", scratch["base.json"], "--junit", scratch["junit.xml"]]
            let more = try measure(options + large)
            #expect(more.code == 1, "\(more.output)")
            #expect(more.output.contains("FAILED  baseline minor faults: "))
            let junit = try #require(contents(of: scratch["junit.xml"]))
            #expect(String(decoding: junit, as: UTF8.self).contains("<failure message="))
        }

        @Test("Each run gets a fresh copy of the data, always under the same path")
        func data() throws {
            let scratch = try Scratch()
            try scratch.write("fresh", to: "state")
            let script = """
                test "$1" = "$WATCHDOGD_DATA" && test "$(cat "$1/state")" = fresh && echo used > "$1/state"
                """
            let answer = try measure(
                ["--runs", "2", "--data", scratch.path, "--", "/bin/sh", "-c", script, "sh", "{data}"])
            expectMeasured(answer)
            #expect(contents(of: scratch["state"]).map { String(decoding: $0, as: UTF8.self) } == "fresh")
        }

        @Test("A program that fails is one error with its status and its last line")
        func failing() throws {
            let answer = try measure(["--", "/bin/sh", "-c", "echo first >&2; echo 'no such table' >&2; exit 3"])
            #expect(answer.code == 70)
            #expect(answer.errors == "watchdogd: /bin/sh exited with code 3: no such table\n")
            #expect(answer.output == "")
            let early = try measure(["--until", "ready", "--", "/bin/true"])
            #expect(early.code == 70)
            #expect(early.errors == "watchdogd: /bin/true exited with code 0, before READY=1\n")
            let late = try measure(["--until", "ready", "--time-limit", "200ms", "--", "/bin/sleep", "60"])
            #expect(late.code == 70)
            #expect(late.errors.hasPrefix("watchdogd: /bin/sleep did not send READY=1 within 200 ms; "))
        }

        @Test(
            "A wrong option is one error with a hint",
            arguments: [
                ([], 64, "a program is missing"), (["--runs", "0", "--", "true"], 64, "--runs 0 is out of range"),
                (["--runs", "6", "--against", "true", "--", "true"], 64, "--runs 6 is too few for --against"),
                (["--within", "5s", "--", "true"], 64, "--within has no effect without --against"),
                (["--within", "5s", "--runs", "9", "--against", "true", "--", "true"], 64, "cannot be combined"),
                (["--against", "a 'b", "--", "true"], 64, "the quote ' at column 3 is not closed"),
                (["--until", "later", "--", "true"], 64, "--until"), (["--max", "400", "--", "true"], 64, "unit"),
                (["--cpu-quota", "half", "--", "true"], 64, "write for example 50%"),
                (["--evict", "/tmp", "--", "true"], 64, "add --cold"),
                (["--baseline", "/nonexistent/b.json", "--", "true"], 66, "write it with --save-baseline"),
                (["--baseline", "/etc/passwd", "--", "true"], 65, "is not a baseline"),
                (["--save-baseline", "/nonexistent/b.json", "--", "true"], 73, "/nonexistent/b.json"),
                (["--data", "/nonexistent", "--", "true"], 66, "there is no such folder"),
                (["--", "nosuchprogram"], 66, "nosuchprogram: command not found"),
                (["--", "/etc/passwd"], 77, "/etc/passwd: permission denied"),
            ] as [([String], Int32, String)])
        func badInput(arguments: [String], code: Int32, message: String) throws {
            let answer = try measure(arguments)
            #expect(answer.code == code, "\(answer)")
            #expect(answer.errors.contains(message), "\(answer.errors)")
            #expect(answer.errors.split(separator: "\n").count == 1)
            #expect(answer.output == "")
        }

        @Test("A program that cannot be executed and a process that cannot be created have separate codes")
        func notExecutable() throws {
            let scratch = try Scratch()
            var foreign = try #require(TestFiles.read("/bin/true"))
            // elf(5), e_machine: an unassigned value.
            (foreign[18], foreign[19]) = (0xfe, 0xfe)
            let texts = [Array("\u{0}no program".utf8), foreign, Array("#!/nonexistent\n".utf8)]
            for (text, code) in zip(texts, [65, 65, 66] as [Int32]) {
                try TestFiles.write(text, to: scratch["program"])
                #expect(chmod(scratch["program"], 0o755) == 0)
                let answer = try measure(["--", scratch["program"]])
                #expect(answer.code == code, "\(answer)")
                #expect(answer.errors.split(separator: "\n").count == 1, "\(answer)")
            }
            // Below this limit, watchdogd cannot even prepare the launch.
            let program = try Program([
                "prlimit", "--nofile=16:16", product("watchdogd"), "measure", "--runs", "1", "--", "true",
            ])
            #expect(try program.end().code == 71, "\(program.text(.errors))")
        }

        @Test("--cold evicts the program's files, and reports what stayed in memory")
        func cold() throws {
            let answer = try measure(["--cold", "--runs", "2", "--", Self.python, "-c", "pass"])
            expectMeasured(answer)
            #expect(answer.output.contains("of files were evicted"), "\(answer.output)")
        }

        @Test("A CPU quota stretches the wall time if a cgroup can be created")
        func quota() throws {
            let script = "import time\nwhile time.process_time() < 0.2: pass"
            let answer = try measure(
                ["--runs", "1", "--discard", "0", "--cpu-quota", "20%", "--json", "--", Self.python, "-c", script])
            guard answer.code != 69 else {
                #expect(answer.errors.contains("--cpu-quota: cannot limit the CPU: "))
                print("skipped: \(answer.errors)")
                return
            }
            let result = try JSONDecoder().decode(Result.self, from: Data(answer.output.utf8))
            #expect(result.runs.allSatisfy { $0.wallNSec > 600_000_000 })
        }

        @Test("An interruption terminates the program first")
        func interrupted() throws {
            let marker = "\(getpid())78"
            let program = try Program([
                product("watchdogd"), "measure", "--until", "exit", "--", "/bin/sleep", "60.\(marker)",
            ])
            let isThere = try Program(["sh", "-c", "until pgrep -f '^/bin/sleep 60.\(marker)'; do sleep 0.02; done"])
            _ = try isThere.end()
            try program.process.send(SIGINT)
            #expect(try program.end().code == 130)
            try expectNone("^/bin/sleep 60.\(marker)")
        }
    }
}
