// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    @Suite("Kept stacks", .enabled(if: isInstalled("cc"), "there is no C compiler"))
    struct KeptStackTests {
        private static let source = """
            #include <pthread.h>
            #include <string.h>
            #include <unistd.h>
            static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
            static pthread_barrier_t barrier;
            __attribute__((noinline)) void hold_the_lock(void) {
                pthread_mutex_lock(&lock);
                pthread_barrier_wait(&barrier);
                for (;;) pause();
            }
            static void *holder(void *argument) { hold_the_lock(); return argument; }
            __attribute__((noinline)) int wait_for_lock(int depth) {
                char filler[FILLER];
                memset(filler, depth + 1, sizeof filler);
                __asm__ volatile("" : : "r"(filler) : "memory");
                if (depth > 0) return wait_for_lock(depth - 1) + 1;
                pthread_mutex_lock(&lock);
                return 1;
            }
            int main(void) {
                pthread_t thread;
                pthread_barrier_init(&barrier, NULL, 2);
                pthread_create(&thread, NULL, holder, NULL);
                pthread_barrier_wait(&barrier);
                return wait_for_lock(2);
            }
            """

        private static func program(in scratch: Scratch, _ options: [String] = []) throws -> String {
            let path = scratch["hang"]
            try scratch.write(source, to: "hang.c")
            let compiler = try Program(
                ["cc", "-O1", "-g", "-pthread", "-DFILLER=16", "-o", path] + options + [scratch["hang.c"]],
                environment: testEnvironment())
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            return path
        }

        /// A program that hangs with two threads, whose stacks are kept.
        private func hang(
            _ options: [String] = ["--keep-stacks"], compiled compilation: [String] = []
        ) throws -> (Ending, program: String) {
            let scratch = try Scratch()
            let program = try Self.program(in: scratch, compilation)
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", "1s"] + options, [program], scratch: scratch
            ).end()
            try #require(ending.reportPaths.count == 1)
            return (ending, program)
        }

        private func run(_ command: [String]) throws -> (code: Int32?, output: String, errors: String) {
            var environment = testEnvironment()
            environment["DEBUGINFOD_URLS"] = nil
            let program = try Program(command, environment: environment)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        private func core(
            _ arguments: [String], of ending: Ending
        ) throws -> (
            code: Int32?, output: String, errors: String
        ) {
            try run([product("watchdogd"), "report", "core", "--reports", ending.scratch["reports"]] + arguments)
        }

        private struct Debugger: Sendable {
            let name: String
            let command: @Sendable (_ program: String, _ core: String) -> [String]
        }

        private static let debuggers = [
            Debugger(name: "gdb") { program, core in
                ["gdb", "-nx", "-q", "-batch", "-ex", "thread apply all backtrace", program, core]
            },
            Debugger(name: "lldb") { program, core in
                ["lldb", "--no-lldbinit", "--batch", "-o", "thread backtrace all", "--core", core, program]
            },
            Debugger(name: "eu-stack") { program, core in ["eu-stack", "--core", core, "-e", program] },
        ]

        @Test(
            "gdb, lldb and eu-stack show both threads' functions, at a fixed address and for a deep stack too",
            // A capture copies 256 KiB of a stack, and the outermost 32 KiB.
            arguments: [[String](), ["-no-pie"], ["-UFILLER", "-DFILLER=90000"]])
        func debuggers(_ compilation: [String]) throws {
            let (ending, program) = try hang(compiled: compilation)
            let file = ending.scratch["hang.core"]
            let answer = try core(["--output", file, "latest"], of: ending)
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.errors == "watchdogd: wrote \(file); open it with: gdb PROGRAM FILE\n")
            for debugger in Self.debuggers {
                // A debugger from a toolchain may lack a library.
                guard isInstalled(debugger.name), try run([debugger.name, "--version"]).code == 0 else {
                    print("skipped: \(debugger.name) is not installed")
                    continue
                }
                let shown = try run(debugger.command(program, file))
                for function in ["wait_for_lock", "hold_the_lock", "main", "holder"] {
                    #expect(shown.output.contains(function), "\(debugger.name): \(shown.output)\n\(shown.errors)")
                }
                let depth = shown.output.ranges(of: "wait_for_lock").count
                #expect(depth == 3, "\(debugger.name): \(shown.output)")
            }
        }

        @Test("If parts of a stack are missing, the report states how much, and both ends are kept")
        func gap() throws {
            let (ending, program) = try hang(compiled: ["-UFILLER", "-DFILLER=400000"])
            let notes = ending.reports.first?.body.linux?.notes ?? []
            let process = ending.reports.first?.body.pid ?? 0
            let words = "Debuggers do not get to the outer ends of kept stacks of which parts were not kept: "
            #expect(
                notes.contains { $0.hasPrefix(words) && $0.hasSuffix(" KiB of thread \(process).") }, "\(notes)")
            let file = ending.scratch["hang.core"]
            #expect(try core(["--output", file, "latest"], of: ending).code == 0)
            guard isInstalled("gdb") else { return }
            // The return address of main is in the kept outer end: the stack begins below the arguments.
            let shown = try run(["gdb", "-nx", "-q", "-batch", "-ex", "backtrace", program, file])
            #expect(shown.output.contains("wait_for_lock"), "\(shown.output)\n\(shown.errors)")
        }

        @Test("They are as confidential as memory: mode 0600, including the output of report core")
        func modes() throws {
            let (ending, _) = try hang()
            let kept = try #require(ending.corePaths.first)
            #expect(ending.corePaths == ["\(ending.reportPaths[0].dropLast(4)).core"])
            #expect(mode(of: kept) == 0o600)
            let file = ending.scratch["copy"]
            #expect(try core(["--output", file], of: ending).code == 0)
            #expect(mode(of: file) == 0o600)
            #expect(contents(of: file) == contents(of: kept))
        }

        @Test("An existing file is overwritten only on request; standard output may be a pipe")
        func outputs() throws {
            let (ending, _) = try hang()
            let kept = try #require(ending.corePaths.first.flatMap { contents(of: $0) })
            try ending.scratch.write("mine", to: "copy")
            let file = ending.scratch["copy"]
            let refusal = try core(["--output", file], of: ending)
            #expect(refusal.code == 74)
            #expect(
                refusal.errors == "watchdogd: cannot create \(file): there is such a file; choose another name, "
                    + "or use --force\n")
            #expect(contents(of: file) == Array("mine".utf8))
            #expect(try core(["--force", "--output", file], of: ending).code == 0)
            #expect(contents(of: file) == kept)
            let piped = try run(
                shell(
                    "\"$1\" report core --reports \"$2\" > \"$3\"", product("watchdogd"), ending.scratch["reports"],
                    ending.scratch["piped"]))
            #expect(piped.code == 0, "\(piped.errors)")
            #expect(contents(of: ending.scratch["piped"]) == kept)
            #expect(try core(["--force"], of: ending).code == 64)
        }

        @Test("Without them, report core names the option that would have kept them")
        func none() throws {
            let (ending, _) = try hang([])
            #expect(ending.corePaths.isEmpty)
            let answer = try core(["--output", ending.scratch["copy"]], of: ending)
            #expect(answer.code == 66)
            let advice = "; KeepStacks=yes in the app's file (run: --keep-stacks) keeps those of the next crash logs\n"
            #expect(answer.errors.hasSuffix(advice))
            #expect(contents(of: ending.scratch["copy"]) == nil)
        }

        @Test("They are deleted with their crash log")
        func deleted() throws {
            let (ending, _) = try hang()
            let answer = try run(
                [product("watchdogd"), "report", "delete", "--yes", "--reports", ending.scratch["reports"], "latest"])
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(names(in: ending.scratch["reports"]) == [])
        }

        @Test(
            "A full disk costs the stacks, not the crash log, which states that",
            .enabled(if: hasAllRights, "mounting a small file system needs root"))
        func fullDisk() throws {
            let scratch = try Scratch()
            let reports = try scratch.makeDirectory("small")
            let program = try Self.program(in: scratch, ["-UFILLER", "-DFILLER=80000"])
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", "1s", "--keep-stacks"], [program],
                wrapper: [
                    "unshare", "--mount", "/bin/sh", "-c",
                    #"mount -t tmpfs -o size=160k tmpfs "$0" && "$@"; result=$?; ls "$0"; cat "$0"/*.ips; exit $result"#,
                    reports,
                ],
                scratch: scratch, reports: reports
            ).end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.report != nil)
            #expect(ending.output.contains("The stacks were not kept: cannot write "), "\(ending.output)")
            #expect(ending.output.contains("No space left on device (ENOSPC)"))
            let left = ending.output.split(separator: "\n").filter {
                $0.hasSuffix(".core") || $0.hasSuffix(".partial")
            }
            #expect(left.isEmpty, "\(left)")
        }

        @Test("--keep-stacks requires a reports folder")
        func printed() throws {
            let answer = try run([product("watchdogd"), "run", "--keep-stacks", "--reports", "none", "--", "/bin/true"])
            #expect(answer.code == 64)
            #expect(answer.errors.contains("stacks are kept beside reports"))
        }

        private func mode(of path: String) -> mode_t? {
            var status = stat()
            return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
        }
    }
}
