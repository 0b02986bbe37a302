// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogRecording
import WatchdogRendering

extension EndToEnd {
    @Suite("watchdogd record show")
    struct RecordShowTests {
        private func show(_ arguments: String...) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd"), "record", "show"] + arguments)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        private func recording(in scratch: Scratch) throws -> String {
            let path = scratch["slow.launch"]
            try TestFiles.write(try RecordingCoding.encode(Launches.starSearcher), to: path)
            return path
        }

        @Test("prints the library's text, or the recording as JSON")
        func prints() throws {
            let scratch = try Scratch()
            let path = try recording(in: scratch)
            let text = try show(path)
            #expect(text.code == 0)
            #expect(text.output == Launches.starSearcher.text())
            let json = try show("--json", path)
            #expect(json.code == 0)
            #expect(try RecordingCoding.decode(Array(json.output.utf8)) == Launches.starSearcher)
        }

        @Test("writes a complete page and trace beside the text")
        func writesFiles() throws {
            let scratch = try Scratch()
            let path = try recording(in: scratch)
            let (page, trace) = (scratch["slow.html"], scratch["slow.perfetto-trace"])
            let answer = try show("--html", page, "--perfetto", trace, path)
            #expect(answer.code == 0)
            #expect(answer.output == Launches.starSearcher.text())
            #expect(TestFiles.read(page) == Array(LaunchPage.render(Launches.starSearcher).utf8))
            #expect(TestFiles.read(trace) == PerfettoTrace.encode(Launches.starSearcher))
            #expect(TestFiles.names(in: scratch.path).filter { $0.hasSuffix(".tmp") } == [])
        }

        @Test("shows a launch recorded on this machine, on any rung, like record itself")
        func recorded() throws {
            let scratch = try Scratch()
            let (path, page) = (scratch["true.launch"], scratch["true.html"])
            let program = try Program(
                [
                    product("watchdogd"), "record", "--output", path, "--html", page, "--until", "exit", "--",
                    "/bin/true",
                ])
            #expect(try program.end().code == 0, "\(program.text(.errors))")
            #expect(program.text(.output).contains("exited with code 0 after"))
            #expect(program.text(.output).contains("Phases (ms)"))
            #expect(
                TestFiles.read(page).map { String(decoding: $0, as: UTF8.self) }?.contains("<h1>Exited with code 0")
                    == true)
            let shown = try show(path)
            #expect(shown.code == 0)
            #expect(shown.output == program.text(.output))
        }

        @Test("names the functions of the samples", .enabled(if: isInstalled("c++"), "there is no compiler"))
        func functionNames() throws {
            let scratch = try Scratch()
            let source = try scratch.write(
                """
                struct Catalog { unsigned long value = 1; __attribute__((noinline)) void load(); };
                void Catalog::load() { for (volatile int i = 0; i < 50000000; i = i + 1) value = value * 31 + i; }
                int main() { Catalog catalog; catalog.load(); return catalog.value == 3; }
                """, to: "catalog.cpp")
            let (subject, path) = (scratch["catalog"], scratch["catalog.launch"])
            let compiler = try Program(["c++", "-g", "-O1", "-fno-omit-frame-pointer", "-o", subject, source])
            #expect(try compiler.end().code == 0, "\(compiler.text(.errors))")
            let program = try Program([product("watchdogd"), "record", "--output", path, "--", subject])
            #expect(try program.end().code == 0, "\(program.text(.errors))")
            let recording = try RecordingCoding.decode(try #require(contents(of: path)))
            // Machines that permit only rungs C and D take no samples.
            guard let samples = recording.samples else { return }
            var functions: Set<String> = []
            var pending = samples.roots
            while let call = pending.popLast() {
                functions.insert(call.function)
                pending += call.callees
            }
            #expect(functions.contains("Catalog::load()"), "\(functions) \(recording.notes)")
            #expect(functions.contains("main"), "\(functions)")
            #expect(program.text(.output).contains("%  Catalog::load()  (catalog)"))
            #expect(try show("--json", path).output.contains("Catalog::load()"))
            let wide = try Program([product("watchdogd"), "record", "show", "--html", scratch["page.html"], path])
            #expect(try wide.end().code == 0)
            #expect(scratch.read("page.html")?.contains("Catalog::load()") == true)
        }

        @Test("reports a problem with a file or an option in one line")
        func mistakes() throws {
            let scratch = try Scratch()
            let path = try recording(in: scratch)
            let damaged = scratch["damaged.launch"]
            try TestFiles.write(Array("{\"format\":\"watchdogd-launch\",\"version\":1}".utf8), to: damaged)
            for (arguments, code, words) in [
                ([scratch["none.launch"]], 66, "none.launch"), ([damaged], 65, "damaged recording: program is missing"),
                (["/bin/sh"], 65, "not a recording"),
                (["--html", "/nonexistent/x.html", path], 73, "/nonexistent"),
                (["--html", "", path], 64, "--html is empty"), ([""], 64, "the path is empty"), ([], 64, "file"),
                (["--json", "--width", path], 64, "--width"),
            ] as [([String], Int32, String)] {
                let program = try Program([product("watchdogd"), "record", "show"] + arguments)
                #expect(try program.end().code == code, "\(arguments)")
                let errors = program.text(.errors)
                #expect(errors.contains(words), "\(arguments): \(errors)")
                #expect(errors.split(separator: "\n").count == 1, "\(errors)")
                #expect(program.text(.output) == "")
            }
        }
    }
}
