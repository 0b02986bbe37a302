// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogLinux
import WatchdogRecording

extension EndToEnd {
    @Suite("watchdogd record")
    struct RecordCommandTests {
        private func record(_ arguments: [String]) throws -> (code: Int32?, errors: String) {
            let program = try Program([product("watchdogd"), "record", "--time-limit", "20s"] + arguments)
            let code = try program.end().code
            return (code, program.text(.errors))
        }

        @Test("kills a program's leftovers, even in their own session, unless --keep is given")
        func orphans() throws {
            for (options, isLeft) in [([], false), (["--keep"], true)] as [([String], Bool)] {
                let scratch = try Scratch()
                let script = "setsid sleep 100 </dev/null >/dev/null 2>&1 & echo $! > \(scratch["pid"])"
                #expect(try record(options + ["--", "/bin/sh", "-c", script]).code == 0)
                let text = try #require(TestFiles.read(scratch["pid"]).map { String(decoding: $0, as: UTF8.self) })
                let pid = try #require(Int32(text.split(separator: "\n").first ?? ""))
                // Not as a zombie either.
                #expect((ProcessStat.read(pid) != nil) == isLeft)
                if isLeft { kill(pid, SIGKILL) }
            }
        }

        @Test("records first use after readiness, and does not wait for a program that never reports it")
        func useful() throws {
            for words in [["READY=1", "USEFUL=1"], ["READY=1"]] {
                let scratch = try Scratch()
                let script = """
                    import os, socket, time
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                    s.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\\0", 1))
                    for word in \(words):
                        s.send(word.encode())
                        # A phase of no length is none.
                        time.sleep(0.05)
                    time.sleep(3600)
                    """
                let path = scratch["app.launch"]
                let answer = try record(["--output", path, "--", "/usr/bin/python3", "-c", script])
                #expect(answer.code == 0, "\(answer.errors)")
                let recording = try RecordingCoding.decode(try #require(contents(of: path)))
                #expect(recording.end.kind == .ready)
                #expect(recording.phases.contains { $0.kind == .untilUseful } == (words.count == 2))
                #expect(recording.marks.contains { $0.kind == .useful } == (words.count == 2))
            }
        }

        @Test("forwards an interrupt that another process sends", arguments: [SIGINT, SIGQUIT, SIGTERM, SIGHUP])
        func interrupts(signal: Int32) throws {
            let scratch = try Scratch()
            let script = "echo > \(scratch["running"]); exec sleep 100"
            let program = try Program(
                [
                    product("watchdogd"), "record", "--until", "ready", "--time-limit", "30s", "--", "/bin/sh", "-c",
                    script,
                ])
            #expect(eventually { TestFiles.read(scratch["running"]) != nil })
            try program.send(signal)
            #expect(try program.end().code == 128 + signal, "\(program.text(.errors))")
        }

        @Test("reports a problem with a program in one line")
        func mistakes() throws {
            let scratch = try Scratch()
            let own = try #require(TestFiles.read("/bin/true"))
            try TestFiles.write(Array(own.prefix(200)), to: scratch["short"])
            var foreign = own
            // elf(5), e_machine: an unassigned value.
            (foreign[18], foreign[19]) = (0xfe, 0xfe)
            try TestFiles.write(foreign, to: scratch["foreign"])
            for name in ["short", "foreign"] { #expect(chmod(scratch[name], 0o755) == 0) }
            for (path, code, words) in [
                (scratch["short"], 65, "it is damaged"), (scratch["foreign"], 65, "machine number 65278"),
                (scratch["none"], 66, "no such file\n"), ("nosuchprogram", 66, "command not found; is it in PATH?\n"),
            ] as [(String, Int32, String)] {
                let answer = try record(["--", path])
                #expect(answer.code == code, "\(answer)")
                #expect(answer.errors.contains(words), "\(answer)")
                #expect(answer.errors.split(separator: "\n").count == 1)
            }
        }

        @Test("never replaces a program by its recording", arguments: ["-o", "--html", "--perfetto"])
        func programAsOutput(option: String) throws {
            let scratch = try Scratch()
            let original = try #require(TestFiles.read("/bin/true"))
            try TestFiles.write(original, to: scratch["app"])
            #expect(chmod(scratch["app"], 0o755) == 0)
            #expect(symlink("app", scratch["link"]) == 0)
            for name in ["app", "link"] {
                let answer = try record([option, scratch["app"], "--", scratch[name]])
                #expect(answer.code == 64)
                #expect(answer.errors.hasSuffix("app is the program itself; write the recording to another file\n"))
            }
            #expect(TestFiles.read(scratch["app"]) == original)
            #expect(try record([option, scratch["app.launch"], "--", scratch["app"]]).code == 0)
        }

        @Test(
            "Lost output is not a success, and a failure of the program stays a failure",
            arguments: [
                ("record -- /bin/true", 74), ("record -- /bin/sh -c 'exit 7'", 7),
                ("measure --runs 1 -- /bin/true", 74),
                ("--help", 74),
            ] as [(String, Int32)])
        func lostOutput(arguments: String, code: Int32) throws {
            let program = try Program(["sh", "-c", "\(shellWord(product("watchdogd"))) \(arguments) >/dev/full"])
            #expect(try program.end().code == code)
            #expect(
                program.text(.errors).hasPrefix("watchdogd: cannot write to standard output"),
                "\(program.text(.errors))")
        }
    }
}
