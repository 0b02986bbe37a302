// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogRecording

extension EndToEnd {
    /// Records, as an ordinary user, programs whose execve(2) raises their privileges, which it does not under a
    /// tracer.
    @Suite(
        "watchdogd record, programs with privileges",
        .enabled(if: hasAllRights && isInstalled("setpriv") && isInstalled("cc"), "needs root, setpriv and cc"))
    struct RecordPrivilegeTests {
        enum Privilege: String, CaseIterable {
            case setUserID
            case capabilities
        }

        private static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

        @Test("are never stopped, so that they keep their privileges", arguments: Privilege.allCases)
        func direct(privilege: Privilege) throws {
            guard let subject = try Subject(privilege) else { return }
            let answer = try subject.record([subject.program])
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.output.hasPrefix(subject.privileged), "\(answer.output)")
            let recording = try #require(answer.recording)
            #expect(recording.ladder.filter(\.used).map(\.rung) == [.d])
            let refused = recording.ladder.filter { !$0.used }
            #expect(refused.map(\.rung) == [.a, .b, .c])
            #expect(refused.allSatisfy { $0.reason?.contains("a trace would drop them") == true }, "\(refused)")
            #expect(recording.phases.map(\.kind) == [.request, .main])
            #expect(recording.phases.allSatisfy { $0.stopped == .zero })
        }

        @Test("are rejected on a rung that stops them", arguments: Privilege.allCases)
        func refused(privilege: Privilege) throws {
            guard let subject = try Subject(privilege) else { return }
            for rung in ["A", "B", "C"] {
                let answer = try subject.record([subject.program], options: ["--rung", rung])
                #expect(answer.code == 77)
                #expect(answer.errors.hasPrefix("watchdogd: rung \(rung) is not possible here: "), "\(answer.errors)")
                // It was not run at all.
                #expect(answer.output == "")
                #expect(answer.recording == nil)
            }
        }

        @Test(
            "run without them if a wrapper executes them, and the recording states that", arguments: Privilege.allCases)
        func wrapped(privilege: Privilege) throws {
            guard let subject = try Subject(privilege) else { return }
            let answer = try subject.record(["/bin/sh", "-c", "exec \(subject.program)"])
            #expect(answer.code == 0, "\(answer.errors)")
            let recording = try #require(answer.recording)
            let used = try #require(recording.ladder.first { $0.used }).rung
            guard used < .d else {
                // Nothing was traced.
                #expect(answer.output.hasPrefix(subject.privileged), "\(answer.output)")
                return print("skipped: the user nobody cannot trace here")
            }
            #expect(answer.output.hasPrefix("user 65534, capabilities 0000000000000000\n"), "\(answer.output)")
            #expect(
                recording.notes.contains { $0.hasPrefix(subject.program) && $0.contains("ran without them") },
                "\(recording.notes)")
        }

        @Test("are recorded from their first instruction by root, under whom they lose nothing")
        func root() throws {
            guard let subject = try Subject(.setUserID) else { return }
            let answer = try subject.record([subject.program], isRoot: true)
            #expect(answer.code == 0, "\(answer.errors)")
            let recording = try #require(answer.recording)
            #expect(recording.phases.suffix(2).map(\.kind) == [.ownConstructors, .main])
        }

        /// A program with a privilege, beside a folder that the user nobody may write to.
        private struct Subject {
            struct Answer {
                let code: Int32?
                let output: String
                let errors: String
                let recording: LaunchRecording?
            }

            let scratch: Scratch
            let program: String
            /// Its output with its privilege.
            let privileged: String

            /// Nil if this machine does not grant the privilege, or the user nobody cannot run watchdogd.
            init?(_ privilege: Privilege) throws {
                scratch = try Scratch()
                program = scratch["subject"]
                try #require(chmod(scratch.path, 0o755) == 0)
                _ = try scratch.makeDirectory("recordings")
                try #require(chown(scratch["recordings"], 65_534, 65_534) == 0)
                let compiler = try Program(["cc", "-o", program, "\(subjects)/slow_start.c"])
                try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
                switch privilege {
                case .setUserID:
                    privileged = "user 0, "
                    try #require(chmod(program, 0o4755) == 0)
                case .capabilities:
                    // CAP_NET_RAW: bit 13, capabilities(7).
                    privileged = "user 65534, capabilities 0000000000002000\n"
                    guard isInstalled("setcap") else {
                        print("skipped: setcap is not installed")
                        return nil
                    }
                    let setcap = try Program(["setcap", "cap_net_raw+ep", program])
                    guard try setcap.end().code == 0 else {
                        print("skipped: \(setcap.text(.errors))")
                        return nil
                    }
                }
                let plain = try Program(RecordPrivilegeTests.nobody + [program])
                guard try plain.end().code == 0, plain.text(.output).hasPrefix(privileged) else {
                    print("skipped: no program gets its privileges here: \(plain.text(.output))")
                    return nil
                }
                let version = try Program(RecordPrivilegeTests.nobody + [product("watchdogd"), "--version"])
                guard try version.end().code == 0 else {
                    print("skipped: the user nobody cannot run watchdogd here")
                    return nil
                }
            }

            func record(_ command: [String], options: [String] = [], isRoot: Bool = false) throws -> Answer {
                let path = scratch["recordings/x.launch"]
                unlink(path)
                let program = try Program(
                    (isRoot ? [] : RecordPrivilegeTests.nobody) + [
                        product("watchdogd"), "record", "--time-limit", "30s", "-o", path,
                    ]
                        + options + ["--"] + command, directory: scratch["recordings"])
                let code = try program.end().code
                return Answer(
                    code: code, output: program.text(.output), errors: program.text(.errors),
                    recording: try contents(of: path).map { try RecordingCoding.decode($0) })
            }
        }
    }
}
