// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogRecording

extension EndToEnd {
    /// Records a program whose libraries and own code have constructors with known work.
    @Suite("watchdogd record --constructors", .enabled(if: isInstalled("cc"), "needs cc"))
    struct RecordConstructorTests {
        private static let rights = "needs root outside of a container"

        @Test(
            "times each constructor, in execution order, even in files without symbols",
            .enabled(if: hasAllRights, Comment(rawValue: rights)), arguments: [false, true])
        func constructors(isStripped: Bool) throws {
            let subject = try Subject(isStripped: isStripped)
            let answer = try subject.record(["--constructors"])
            try #require(answer.code == 0, "\(answer.errors)")
            let recording = try #require(answer.recording)
            #expect(!recording.notes.contains { $0.contains("not timed") }, "\(recording.notes)")
            // A library's dependencies come before it.
            let known = try #require(recording.constructors).filter { $0.object.hasPrefix(subject.scratch.path) }
            #expect(known.map { $0.object.split(separator: "/").last } == ["libfirst.so", "libsecond.so", "app"])
            #expect(known.map(\.isOwn) == [false, false, true])
            let names = known.map(\.function)
            #expect(names == (isStripped ? [nil, nil, nil] : ["load_catalog", "init_logger", "read_settings"]))
            try #require(known.count == 3)
            #expect(known.allSatisfy { $0.isComplete })
            #expect(zip(known, known.dropFirst()).allSatisfy { $0.end <= $1.begin })

            // They compute for 90 and 30 ms of CPU time, and sleep for 60 ms.
            let running = try known.map { try #require($0.time).running }
            let ratio = running[0] / running[1]
            #expect((2.4...3.4).contains(ratio), "\(running)")
            #expect(running[0] >= .milliseconds(89) && running[0] < .milliseconds(120), "\(running)")
            #expect(running[2] < .milliseconds(10), "\(running)")
            #expect(known[2].wall >= .milliseconds(60))
            #expect(try #require(known[2].time).blocked >= .milliseconds(55))

            // They lie within their phases, which exclude the time in which the probes were set.
            for (kind, constructors) in [
                (LaunchPhase.Kind.libraryConstructors, known.prefix(2)), (.ownConstructors, known.suffix(1)),
            ] {
                let phase = try #require(recording.phases.first { $0.kind == kind })
                #expect(constructors.allSatisfy { phase.begin <= $0.begin && $0.end <= phase.end }, "\(phase)")
            }
            let main = try #require(recording.phases.last)
            #expect(main.kind == .main && main.isComplete)
            // It computes for 20 ms.
            #expect(try #require(main.time).running >= .milliseconds(10), "\(main) \(recording.notes)")

            let text = try subject.shown()
            #expect(text.contains("\nConstructors (ms)"))
            if !isStripped {
                #expect(text.contains("  load_catalog  (libfirst.so)"))
                #expect(text.contains("The constructor load_catalog of libfirst.so took "), "\(text)")
            }
        }

        @Test("is required for constructor times", .enabled(if: hasAllRights, Comment(rawValue: rights)))
        func withoutOption() throws {
            let subject = try Subject(isStripped: false)
            let answer = try subject.record([])
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(try #require(answer.recording).constructors == nil)
            #expect(try !subject.shown().contains("Constructors (ms)"))
        }

        @Test("follows a wrapper to the program", .enabled(if: hasAllRights, Comment(rawValue: rights)))
        func wrapper() throws {
            let subject = try Subject(isStripped: false)
            let answer = try subject.record(["--constructors"], wrapper: ["/bin/sh", "-c", "exec \"$0\""])
            #expect(answer.code == 0, "\(answer.errors)")
            let names = try #require(answer.recording?.constructors).compactMap(\.function)
            #expect(Set(["load_catalog", "init_logger", "read_settings"]).isSubset(of: names), "\(names)")
        }

        @Test(
            "launches nothing as an ordinary user, and suggests a remedy",
            .enabled(if: hasAllRights && isInstalled("setpriv"), "needs root and setpriv"))
        func ordinaryUser() throws {
            let subject = try Subject(isStripped: false)
            let answer = try subject.record(
                ["--constructors"], user: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
            #expect(answer.code == 77)
            #expect(answer.errors.hasPrefix("watchdogd: constructors cannot be timed here: "), "\(answer.errors)")
            #expect(answer.errors.contains("; run as root"), "\(answer.errors)")
            #expect(answer.errors.split(separator: "\n").count == 1, "\(answer.errors)")
            #expect(answer.recording == nil)
        }

        @Test("launches no file that raises its privileges", .enabled(if: hasAllRights, Comment(rawValue: rights)))
        func privileges() throws {
            let subject = try Subject(isStripped: false)
            try #require(chmod(subject.scratch["app"], 0o4755) == 0)
            let answer = try subject.record(["--constructors"])
            #expect(answer.code == 77)
            #expect(answer.errors.contains("raises its privileges"), "\(answer.errors)")
            #expect(answer.recording == nil)
        }

        @Test("is rejected on rungs without perf events")
        func rungs() throws {
            let subject = try Subject(isStripped: false)
            for rung in ["C", "D"] {
                let answer = try subject.record(["--constructors", "--rung", rung])
                #expect(answer.code == 64)
                #expect(answer.errors.contains("use rung A or B"), "\(answer.errors)")
            }
        }

        /// The program with its two libraries.
        private struct Subject {
            let scratch: Scratch

            init(isStripped: Bool) throws {
                scratch = try Scratch()
                try #require(chmod(scratch.path, 0o755) == 0)
                let source = "\(subjects)/constructors.c"
                let strip = isStripped ? ["-s"] : []
                let (first, second) = (scratch["libfirst.so"], scratch["libsecond.so"])
                try compile(strip + ["-DPART=1", "-shared", "-fPIC", "-o", first, source])
                try compile(strip + ["-DPART=2", "-shared", "-fPIC", "-o", second, source, first])
                let path = ["-Wl,-rpath,\(scratch.path)", "-Wl,-rpath-link,\(scratch.path)"]
                try compile(strip + ["-DPART=0", "-o", scratch["app"], source, second] + path)
            }

            private func compile(_ arguments: [String]) throws {
                let compiler = try Program(["cc", "-O1"] + arguments)
                try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            }

            func record(
                _ options: [String], user: [String] = [], wrapper: [String] = []
            ) throws -> (code: Int32?, errors: String, recording: LaunchRecording?) {
                let path = scratch["x.launch"]
                let output = user.isEmpty ? ["-o", path] : []
                let program = try Program(
                    user + [product("watchdogd"), "record", "--time-limit", "30s"] + output + options + ["--"] + wrapper
                        + [scratch["app"]], directory: scratch.path)
                let code = try program.end().code
                return (
                    code, program.text(.errors), try contents(of: path).map { try RecordingCoding.decode($0) }
                )
            }

            func shown() throws -> String {
                let program = try Program([product("watchdogd"), "record", "show", scratch["x.launch"]])
                try #require(try program.end().code == 0, "\(program.text(.errors))")
                return program.text(.output)
            }
        }
    }
}
