// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux
import WatchdogRecording

extension EndToEnd {
    /// Records programs of each kind that the kernel starts differently, or whose `main` is found differently.
    @Suite("watchdogd record, by kind of program")
    struct RecordKindTests {
        /// How a compiler builds `slow_start.c`.
        struct Build: Sendable, CustomTestStringConvertible {
            let testDescription: String
            var compiler = "cc"
            let flags: [String]
            var kind = LaunchedProgram.Kind.dynamic
            var runtime: String? = "glibc"
        }

        private static let glibc = [
            Build(testDescription: "dynamic", flags: []),
            Build(testDescription: "at a fixed address", flags: ["-no-pie"]),
            Build(testDescription: "stripped", flags: ["-s"]),
            Build(testDescription: "static", flags: ["-static"], kind: .static, runtime: nil),
            Build(testDescription: "static at any address", flags: ["-static-pie"], kind: .static, runtime: nil),
            Build(testDescription: "static and stripped", flags: ["-static", "-s"], kind: .static, runtime: nil),
        ]
        private static let musl = [
            Build(testDescription: "dynamic", compiler: "musl-gcc", flags: [], runtime: "musl"),
            Build(testDescription: "static", compiler: "musl-gcc", flags: ["-static"], kind: .static, runtime: nil),
        ]

        // MARK: - C

        @Test("finds constructors and main of C programs", arguments: glibc, [nil, "C"])
        func programs(build: Build, rung: String?) throws {
            let scratch = try Scratch()
            guard let program = try compiled(build, in: scratch) else { return }
            try expectSlowStart(of: build, recording([program], rung: rung, in: scratch))
        }

        @Test(
            "finds constructors and main of programs with musl",
            .enabled(if: isInstalled("musl-gcc"), "musl-gcc is not installed"), arguments: musl, [nil, "C"])
        func muslPrograms(build: Build, rung: String?) throws {
            let scratch = try Scratch()
            guard let program = try compiled(build, in: scratch) else { return }
            try expectSlowStart(of: build, recording([program], rung: rung, in: scratch))
        }

        // MARK: - Languages

        @Test(
            "finds main of interpreters, whose code has no symbols",
            arguments: [("python3", ["-c", "pass"]), ("node", ["-e", "0"])])
        func interpreters(name: String, arguments: [String]) throws {
            guard isInstalled(name) else { return print("skipped: \(name) is not installed") }
            guard let recording = try recording([name] + arguments, in: try Scratch()) else { return }
            #expect(recording.end == LaunchEnd(kind: .exit, time: recording.end.time, code: 0))
            #expect(recording.program.kind == .dynamic)
            #expect(recording.program.executables.last?.contains(name) == true, "\(recording.program.executables)")
            let kinds = recording.phases.map(\.kind)
            #expect(kinds.starts(with: [.request, .exec, .linkerStart]), "\(kinds)")
            #expect(kinds.suffix(2) == [.ownConstructors, .main], "\(kinds)")
        }

        @Test("follows an app of the Swift library until it is ready")
        func swift() throws {
            guard let recording = try recording([product("HealthyApp"), "--run-for", "60s"], in: try Scratch()) else {
                return
            }
            #expect(recording.end.kind == .ready)
            #expect(recording.program.kind == .dynamic)
            let kinds = recording.phases.map(\.kind)
            #expect(kinds.starts(with: [.request, .exec, .linkerStart]), "\(kinds)")
            #expect(kinds.contains(.libraryConstructors))
            #expect(kinds.last == .application, "\(kinds)")
            #expect(recording.marks.contains { $0.kind == .hello })
        }

        @Test(
            "begins main of a Go program at its entry", .enabled(if: isInstalled("go"), "Go is not installed"))
        func go() throws {
            let scratch = try Scratch()
            let source = try scratch.write("package main\n\nfunc main() { println(\"main\") }\n", to: "start.go")
            var environment = testEnvironment()
            environment["GOCACHE"] = scratch["cache"]
            let compiler = try Program(
                ["go", "build", "-o", scratch["start"], source], environment: environment, directory: scratch.path)
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            guard let recording = try recording([scratch["start"]], in: scratch) else { return }
            #expect(recording.program.kind == .static)
            #expect(recording.phases.map(\.kind) == [.request, .exec, .main])
        }

        // MARK: - Scripts and wrappers

        @Test(
            "counts from the execve of the program that a script or a wrapper becomes",
            arguments: [
                ("script", ["#!/bin/sh\nsleep 0.1; exec \"$1\"\n"], 2),
                ("script of env", ["#!/usr/bin/env sh\nsleep 0.1; exec \"$1\"\n"], 3),
                ("wrappers", ["nice", "env", "X=1", "sh", "-c", "sleep 0.1; exec \"$0\""], 4),
            ])
        func wrappers(name: String, words: [String], count: Int) throws {
            let scratch = try Scratch()
            let build = Build(testDescription: name, flags: [])
            guard let program = try compiled(build, in: scratch) else { return }
            let isScript = words.count == 1
            let command = isScript ? [try scratch.write(words[0], to: "script", mode: 0o755)] : words
            guard let recording = try recording(command + [program], in: scratch) else { return }
            try expectSlowStart(of: build, recording)
            #expect(recording.program.executables.count == count, "\(recording.program.executables)")
            #expect(recording.program.executables.last == program)
            #expect(recording.marks.count { $0.kind == .exec } == count)
            #expect(recording.phases.first.map { $0.kind == .request && $0.wall >= .milliseconds(100) } == true)
        }

        // MARK: - Steps

        /// The path of the program; nil if this machine's compiler cannot build programs of this kind.
        private func compiled(_ build: Build, in scratch: Scratch) throws -> String? {
            guard isInstalled(build.compiler) else {
                print("skipped: \(build.compiler) is not installed")
                return nil
            }
            let (empty, path) = (try scratch.write("int main(void) { return 0; }\n", to: "empty.c"), scratch["subject"])
            let attempt = try Program([build.compiler, "-o", path] + build.flags + [empty])
            guard try attempt.end().code == 0 else {
                print("skipped: no \(build.testDescription) program here: \(attempt.text(.errors))")
                return nil
            }
            let compiler = try Program([build.compiler, "-o", path] + build.flags + ["\(subjects)/slow_start.c"])
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            return path
        }

        /// Records a command to its exit; nil if this machine permits only rung D, or not the rung.
        private func recording(
            _ command: [String], rung: String? = nil, in scratch: Scratch
        ) throws -> LaunchRecording? {
            let path = scratch["x.launch"]
            let program = try Program(
                [product("watchdogd"), "record", "--time-limit", "30s", "-o", path]
                    + (rung.map { ["--rung", $0] } ?? []) + ["--"] + command,
                directory: scratch.path)
            let code = try program.end().code
            if code == 77, !hasAllRights {
                print("skipped: \(program.text(.errors))")
                return nil
            }
            try #require(code == 0, "\(program.text(.errors))")
            let recording = try RecordingCoding.decode(try #require(contents(of: path)))
            let used = try #require(recording.ladder.first { $0.used }).rung
            guard used < .d else {
                #expect(!hasAllRights, "\(recording.ladder)")
                print("skipped: only rung D is possible here")
                return nil
            }
            return recording
        }

        /// Checks the boundary between constructors and `main`: neither may be shorter than it sleeps.
        private func expectSlowStart(of build: Build, _ recording: LaunchRecording?) throws {
            guard let recording else { return }
            #expect(recording.end == LaunchEnd(kind: .exit, time: recording.end.time, code: 0))
            #expect(recording.program.kind == build.kind)
            #expect(recording.program.runtime == build.runtime)
            let kinds = recording.phases.map(\.kind)
            #expect(kinds.starts(with: [.request, .exec]), "\(kinds)")
            #expect(kinds.contains(.libraryConstructors) == (build.kind == .dynamic), "\(kinds)")
            #expect(kinds.suffix(2) == [.ownConstructors, .main], "\(kinds)")
            let last = recording.phases.suffix(2).map(\.wall)
            try #require(last.count == 2)
            #expect(last[0] >= .milliseconds(60) && last[1] >= .milliseconds(40), "\(last)")
        }
    }
}
