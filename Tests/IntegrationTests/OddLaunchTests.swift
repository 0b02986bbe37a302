// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogRecording
import WatchdogReport

extension EndToEnd {
    /// Launches that end early, or go on as another program.
    ///
    /// Siblings: programs of another machine (RecordCommandTests, MeasureCommandTests, EdgeTests) and with privileges
    /// (RecordPrivilegeTests).
    @Suite("Launches that go wrong", .enabled(if: isInstalled("cc"), "needs cc"))
    struct OddLaunchTests {
        private static let rungs: [String?] = [nil, "B", "C", "D"]
        private static let constructors: [(place: String, phase: LaunchPhase.Kind)] = [
            ("library", .libraryConstructors), ("own", .ownConstructors),
        ]

        private let scratch: Scratch
        private let program: String

        init() throws {
            scratch = try Scratch()
            program = scratch["odd_start"]
            let source = "\(subjects)/odd_start.c"
            try DelayBed.compile(["-shared", "-fPIC", "-DLIBRARY", source], to: scratch["libodd.so"])
            try DelayBed.compile(
                ["-pthread", source, "-L\(scratch.path)", "-lodd", "-Wl,-rpath,\(scratch.path)"], to: program)
        }

        // MARK: - record

        /// Records the subject to its end; nil if this machine does not permit the rung.
        private func record(_ words: [String], rung: String?) throws -> (code: Int32?, recording: LaunchRecording)? {
            let path = scratch["x.launch"]
            let recorder = try Program(
                [product("watchdogd"), "record", "--until", "exit", "--time-limit", "60s", "-o", path]
                    + (rung.map { ["--rung", $0] } ?? []) + ["--", program] + words)
            let code = try recorder.end().code
            if code == 77, !hasAllRights {
                print("skipped: \(recorder.text(.errors))")
                return nil
            }
            return (code, try RecordingCoding.decode(try #require(contents(of: path), "\(recorder.text(.errors))")))
        }

        private func hasStarts(_ recording: LaunchRecording) -> Bool {
            recording.ladder.contains { $0.used && $0.rung < .d }
        }

        @Test("A program that ends before main ends in that phase, on each rung", arguments: constructors, rungs)
        func recordedEnd(constructor: (place: String, phase: LaunchPhase.Kind), rung: String?) throws {
            for (deed, code, end) in [("exit", 3, .exit), ("kill", 137, .killed)] as [(String, Int32, LaunchEnd.Kind)] {
                guard let answer = try record([constructor.place, deed], rung: rung) else { return }
                #expect(answer.code == code)
                #expect(answer.recording.end.kind == end)
                let last = try #require(answer.recording.phases.last)
                #expect(last.kind == (hasStarts(answer.recording) ? constructor.phase : .main))
                #expect(last.isComplete == (rung == "D" && deed == "exit"))
                #expect(answer.recording.phases.dropLast().allSatisfy { $0.isComplete })
            }
        }

        @Test("A program whose library is missing ends while the dynamic linker maps libraries", arguments: rungs)
        func recordedLinkerFailure(rung: String?) throws {
            #expect(unlink(scratch["libodd.so"]) == 0)
            guard let answer = try record([], rung: rung) else { return }
            #expect(answer.code == 127)
            let last = try #require(answer.recording.phases.last)
            guard hasStarts(answer.recording) else { return }
            #expect(!last.isComplete)
            // Where nothing shows what the dynamic linker maps, this is part of the next phase.
            let used = answer.recording.ladder.first(where: \.used)?.rung
            #expect(last.kind == (used == .c ? .relocation : .mapping))
        }

        @Test(
            "A program that is replaced in a phase counts from its last execve, on each rung",
            arguments: ["library", "own", "main"], rungs)
        func recordedReplacement(place: String, rung: String?) throws {
            guard let answer = try record([place, "exec"], rung: rung) else { return }
            #expect(answer.code == 0)
            let recording = answer.recording
            guard hasStarts(recording) else {
                return #expect(recording.phases.map(\.kind) == [.request, .main])
            }
            #expect(recording.marks.count { $0.kind == .exec } == 2)
            #expect(recording.phases.allSatisfy { $0.isComplete })
            #expect(
                recording.phases.suffix(3).map(\.kind) == [.libraryConstructors, .ownConstructors, .main],
                "\(recording.phases.map(\.kind))")
            #expect(recording.phases.suffix(3).allSatisfy { $0.wall >= .milliseconds(20) })
        }

        @Test(
            "A program that another thread replaces has no phase that was not seen, on each rung",
            arguments: ["library", "own", "main"], rungs)
        func recordedReplacementByThread(place: String, rung: String?) throws {
            guard let answer = try record([place, "thread"], rung: rung) else { return }
            #expect(answer.code == 0)
            let recording = answer.recording
            #expect(recording.end.kind == .exit)
            #expect(recording.phases.last?.end == recording.end.time)
            #expect(recording.phases.map(\.kind) == [.request, .main])
            #expect(recording.phases.allSatisfy { $0.isComplete })
            guard hasStarts(recording) else { return }
            #expect(recording.notes.contains { $0.hasPrefix("A thread other than the program's first executed") })
        }

        @Test(
            "A recorded program goes on when its recorder is killed, on each rung without breakpoints of a tracer",
            arguments: [nil, "B", "D"])
        func lostRecorder(rung: String?) throws {
            // The shell waits for input, and then executes the program.
            let words = shell(
                "echo $$; read line; \"$1\" library exec; echo $? > \"$2\"; exec \"$1\" none none stay", program,
                scratch["after"])
            let recorder = try Program(
                [product("watchdogd"), "record", "--until", "ready", "--time-limit", "60s"]
                    + (rung.map { ["--rung", $0] } ?? []) + ["--"] + words, streams: .pipesAndInput)
            let pid = try #require(Int32(try recorder.line()))
            try recorder.send(SIGKILL)
            #expect(try recorder.end() == .signaled(signal: SIGKILL, coreDumped: false))
            defer { kill(pid, SIGKILL) }
            recorder.type("\n")
            #expect(eventually { scratch.read("after") == "0\n" })
            let path = program
            #expect(eventually { SymbolicLink.target("/proc/\(pid)/exe") == path })
            // Nobody holds it.
            #expect(eventually { ProcessStat.read(pid)?.state == .sleeping })
        }

        // MARK: - measure

        @Test("measure reports a program that ends before main, and measures one that is replaced")
        func measured() throws {
            for (place, _) in Self.constructors {
                let failed = try Program([product("watchdogd"), "measure", "--runs", "1", "--", program, place, "exit"])
                #expect(try failed.end().code == 70)
                #expect(failed.text(.errors).hasPrefix("watchdogd: \(program) exited with code 3; "))
                #expect(failed.text(.errors).split(separator: "\n").count == 1)
                #expect(failed.text(.output) == "")
                for deed in ["exec", "thread"] {
                    let replaced = try Program(
                        [product("watchdogd"), "measure", "--runs", "1", "--", program, place, deed])
                    #expect(try replaced.end().code == 0, "\(replaced.text(.errors))")
                }
            }
        }

        // MARK: - run

        /// Has the subject killed in its launch, which it stays in.
        private func killed(_ words: [String], options: [String] = []) throws -> LaunchDetails {
            let ending = try Supervision(
                ["--launch", "3s", "--readiness", "notify"] + options, [program] + words + ["stay"], scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            return try #require(ending.reports.first?.body.linux?.launch)
        }

        /// Checks that no phase claims more or less than it took.
        private func expectWhole(_ launch: LaunchDetails) {
            for phase in launch.phases {
                let parts = [phase.runningNanoseconds, phase.preemptedNanoseconds, phase.blockedNanoseconds]
                    .compactMap(\.self)
                #expect(parts.isEmpty || parts.reduce(0, +) == phase.nanoseconds, "\(phase)")
            }
        }

        @Test(
            "A supervised program that is replaced in a phase counts from its last execve",
            arguments: ["library", "own", "main"])
        func supervisedReplacement(place: String) throws {
            let launch = try killed([place, "exec"])
            expectWhole(launch)
            guard launch.unrecorded == nil else { return print("skipped: \(launch.unrecorded ?? "")") }
            #expect(launch.phases.prefix(3).map(\.name) == ["exec", "mapping", "relocation"])
            #expect(launch.phases.last?.name == "ready" && launch.phases.last?.isOpen == true)
        }

        @Test("A supervised program that another thread replaces has no phase that was not seen")
        func supervisedReplacementByThread() throws {
            let launch = try killed(["main", "thread"])
            expectWhole(launch)
            let last = try #require(launch.phases.last)
            #expect(last.isOpen && last.name == "ready")
            #expect(last.runningNanoseconds == nil)
            #expect(!launch.lines.contains { $0.hasPrefix("Longest phase: until ready") }, "\(launch.lines)")
        }

        @Test("A supervised program that ends before main has no phase that was not seen", arguments: constructors)
        func supervisedEnd(constructor: (place: String, phase: LaunchPhase.Kind)) throws {
            let run = try Supervision(
                ["--readiness", "notify", "--json", scratch["result.json"]], [program, constructor.place, "exit"],
                scratch: scratch)
            #expect(try run.end().exitCode == 3)
            let result = try #require(scratch.read("result.json"))
            // The breakpoints may come after the entry: then only what the kernel recorded is known.
            #expect(result.contains("\"unfinishedLaunch\""))
            #expect(!result.contains("\"hello\""))
            if constructor.place == "library" { #expect(!result.contains("\"own-constructors\"")) }
        }

        @Test(
            "A supervised program whose file changes its user says why its phases are unknown",
            .enabled(if: hasAllRights, "needs root"))
        func supervisedPrivilege() throws {
            guard try raisePrivileges() else { return }
            let launch = try killed(["none", "none"])
            let reason = try #require(launch.unrecorded)
            #expect(reason.contains("raises its privileges"))
            #expect(launch.phases.map(\.name) == ["exec", "ready"])
            #expect(launch.phases.allSatisfy { $0.runningNanoseconds == nil })
            #expect(launch.lines.contains { $0.hasSuffix(reason) })
        }

        @Test(
            "A recorded program whose file changes its user has no phase that was not seen, on each rung",
            .enabled(if: hasAllRights, "needs root"), arguments: [nil, "C", "D"])
        func recordedPrivilege(rung: String?) throws {
            guard try raisePrivileges() else { return }
            guard let answer = try record(["main", "exec"], rung: rung) else { return }
            #expect(answer.code == 0)
            let recording = answer.recording
            #expect(recording.ladder.filter(\.used).map(\.rung) == [rung == "D" ? .d : .c])
            #expect(recording.phases.last?.end == recording.end.time)
            guard rung != "D" else { return }
            let refused = recording.ladder.first { $0.rung == .b }
            #expect(refused?.reason?.contains(rung == nil ? "stops recording" : "") == true, "\(recording.ladder)")
            #expect(recording.phases.suffix(3).map(\.kind) == [.libraryConstructors, .ownConstructors, .main])
            #expect(recording.phases.suffix(3).allSatisfy { $0.wall >= .milliseconds(20) })
        }

        /// Makes the subject's file set-user-ID; false where that has no effect.
        private func raisePrivileges() throws -> Bool {
            #expect(chmod(scratch.path, 0o755) == 0)
            try DelayBed.compile(["\(subjects)/slow_start.c"], to: scratch["probe"])
            for name in ["probe", "odd_start"] {
                try #require(chown(scratch[name], 65_534, 65_534) == 0 && chmod(scratch[name], 0o4755) == 0)
            }
            let probe = try Program([scratch["probe"]])
            _ = try probe.end()
            guard probe.text(.output).hasPrefix("user 65534") else {
                print("skipped: no program gets its privileges here: \(probe.text(.output))")
                return false
            }
            return true
        }
    }
}
