// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite(
        "Programs that resist a capture", .enabled(if: isInstalled("cc"), "there is no compiler"))
    struct HostileTargetTests {
        /// A mode of `Subjects/hostile.c`, and the content that its report must have anyway.
        struct Target: Sendable, CustomTestStringConvertible {
            let mode: String
            /// Functions of the main thread, innermost first, that must appear in this order.
            var frames = ["pause", "hang", "main", "__libc_start_main"]
            var threads = 1
            /// Text that a note of the capture must contain.
            var note: String?
            var needsRoot = false
            var testDescription: String { mode }
        }

        static let targets: [Target] = [
            Target(mode: "threads", threads: 1_000),
            Target(
                mode: "deep", frames: ["pause", "descend", "descend"],
                note: "only their innermost and outermost frames are shown"),
            Target(mode: "smashed", frames: ["pause", "smash"]),
            Target(mode: "generated", frames: ["pause", "hang", "run_generated", "main"]),
            Target(mode: "seccomp"),
            Target(mode: "mappings"),
            Target(mode: "broken"),
            Target(mode: "names"),
            Target(mode: "deleted"),
            Target(mode: "replaced"),
            Target(mode: "vfork", threads: 2, note: "did not stop in time"),
            Target(mode: "hidden", frames: ["pause", "main"], needsRoot: true),
        ]

        /// Programs that unlink or replace themselves need one copy each.
        private func compile(in scratch: Scratch, _ flags: [String] = []) throws -> String {
            let path = scratch["hostile"]
            let compiler = try Program(
                ["cc", "-O1", "-g", "-pthread", "-fno-optimize-sibling-calls", "-o", path, "\(subjects)/hostile.c"]
                    + flags)
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            return path
        }

        private func start(_ mode: String, strip: Bool = false, wrapper: [String] = []) throws -> Supervision {
            let scratch = try Scratch()
            let path = try compile(in: scratch, strip ? ["-s"] : [])
            return try Supervision(
                ["--update", "700ms", "--readiness", "notify", "--launch", "60s", "--chdir", scratch.path],
                [path, mode], wrapper: wrapper, scratch: scratch)
        }

        @Test("The kill is on time, and the report is as complete as possible", arguments: targets)
        func target(_ target: Target) throws {
            guard hasAllRights || !target.needsRoot else { return print("hostile: \(target.mode) skipped: needs root") }
            let run = try start(target.mode)
            var peak = 0
            while try run.program.lives(for: .milliseconds(20)) {
                peak = max(peak, peakMemory(of: run.program.pid))
            }
            let ending = try run.end()
            // In KiB: the memory for the largest snapshot and its processing in a debug build.
            #expect(peak < 400 << 10, "\(peak) KiB")
            let report = try #require(ending.reports.first, "\(ending.errors)")
            #expect(ending.exitCode == 137)
            #expect(ending.reports.count == 1)
            #expect(ending.summary?.isDeathVerified == true)
            let linux = try #require(report.body.linux)
            #expect(linux.verdict.kind == .blocked, "\(linux.verdict.line)")
            #expect(linux.verdict.line.contains("in pause"))
            #expect(linux.capture?.method == .ptrace)
            // Bounds with room for a machine that is busy with other tests; the benchmarks measure.
            #expect(linux.capture?.frozenNanoseconds ?? .max < 1_000_000_000)
            #expect(linux.kill.nanoseconds ?? .max < 10_000_000_000)
            #expect(report.body.threads.count == target.threads)
            let names = report.body.threads[0].frames.compactMap(\.symbol)
            var rest = names[...]
            for name in target.frames {
                guard let index = rest.firstIndex(of: name) else {
                    Issue.record("no \(name) among \(names.prefix(20))")
                    break
                }
                rest = rest[(index + 1)...]
            }
            if let note = target.note {
                #expect(linux.capture?.notes.contains { $0.contains(note) } == true, "\(linux.capture?.notes ?? [])")
            }
            if target.mode == "threads" {
                // On a busy machine, time may run out for the last of 15,000 frames, or for the last thread to stop; a
                // note states that.
                let notes = linux.capture?.notes ?? []
                let hasTime = !notes.contains { $0.contains("time ran out") || $0.contains("did not stop in time") }
                let counts = report.body.threads.dropFirst().map(\.frames.count)
                #expect(!hasTime || counts.allSatisfy { $0 > 8 }, "\(linux.capture?.notes ?? [])")
            }
        }

        @Test("Malicious names stay inside their fields")
        func strangeNames() throws {
            let ending = try start("names").end()
            let path = try #require(ending.reportPaths.first)
            let shown = try Program([product("watchdogd"), "report", "show", path])
            #expect(try shown.end().code == 0)
            let text = shown.text(.output)
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || !$0.properties.isControl })
            #expect(text.contains("line\\012break.so") || text.contains("line\\x0abreak.so"))
            // Every line of the images is one image: a name with a line break adds none.
            let images = text.split(separator: "\n").drop { $0 != "Binary Images:" }.dropFirst()
                .prefix { $0.hasPrefix("    0x") || $0.hasPrefix("  0x") || $0.hasPrefix(" 0x") || $0.hasPrefix("0x") }
            #expect(images.count == ending.reports.first?.body.usedImages.count)
        }

        @Test("A stripped program has the same frames, without names")
        func stripped() throws {
            let plain = try #require(try start("plain").end().reports.first)
            let bare = try #require(try start("plain", strip: true).end().reports.first)
            #expect(bare.body.threads[0].frames.count == plain.body.threads[0].frames.count)
            #expect(bare.body.threads[0].frames.first?.symbol == "pause")
            #expect(
                bare.body.threads[0].frames.map(\.imageOffset) == plain.body.threads[0].frames.map(\.imageOffset))
        }

        @Test(
            "A set-user-id program under an ordinary user is killed, with the reason for missing stacks",
            .enabled(if: hasAllRights && isInstalled("setpriv"), "needs root and setpriv"))
        func setUserId() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o755)
            _ = try compile(in: scratch)
            #expect(chmod(scratch["hostile"], 0o4755) == 0)
            for folder in ["runtime", "reports"] {
                _ = try scratch.makeDirectory(folder, mode: 0o700)
                chown(scratch[folder], 65_534, 65_534)
            }
            let run = try Program(
                [
                    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", product("watchdogd"), "run",
                    "--reports", scratch["reports"], "--readiness", "notify", "--launch", "60s", "--update", "700ms",
                    "--",
                    scratch["hostile"], "plain",
                ],
                environment: {
                    var environment = testEnvironment()
                    environment["XDG_RUNTIME_DIR"] = scratch["runtime"]
                    environment["HOME"] = scratch.path
                    return environment
                }(), directory: scratch.path)
            let status = try run.end()
            guard status.code != 126 else {
                return print("hostile: set-user-id skipped: nobody may not run watchdogd here")
            }
            #expect(status.code == 137, "\(run.text(.errors))")
            let file = try #require(names(in: scratch["reports"]).first)
            let report = try ReportCoding.decode(contents(of: "\(scratch["reports"])/\(file)") ?? [])
            let linux = try #require(report.body.linux)
            #expect(report.body.threads.count == 1)
            let words = linux.notes + (linux.capture?.notes ?? []) + [linux.capture?.methodReason ?? ""]
            #expect(words.contains { $0.contains("EPERM") || $0.contains("may not be read") }, "\(words)")
        }
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { generalCategory == .control }
}
