// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogReport

extension EndToEnd {
    /// Old kernels lack system calls (ENOSYS), and the seccomp profiles of older container engines refuse those that they
    /// do not know (EPERM).
    ///
    /// Of the same kind: a container without ptrace, perf events or user namespaces, and a partly hidden /proc.
    @Suite("Where system calls are refused or /proc is missing")
    struct RefusedCallTests {
        private static let refusals = [EPERM, ENOSYS]

        /// Executes what follows `--` after a filter has been installed that answers with an error to the calls before it.
        private static func denying(_ calls: [Int], with error: Int32) -> [String] {
            let script = """
                import ctypes, os, struct, sys
                error, calls = int(sys.argv[1]), [int(n) for n in sys.argv[2:sys.argv.index("--")]]
                code = struct.pack("HBBI", 0x20, 0, 0, 0)
                for call in calls:
                    code += struct.pack("HBBI", 0x15, 0, 1, call) + struct.pack("HBBI", 0x06, 0, 0, 0x50000 | error)
                code += struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
                text = ctypes.create_string_buffer(code, len(code))
                program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(text))
                libc = ctypes.CDLL(None, use_errno=True)
                assert libc.prctl(38, 1, 0, 0, 0) == 0
                assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
                words = sys.argv[sys.argv.index("--") + 1:]
                os.execvp(words[0], words)
                """
            return ["/usr/bin/python3", "-c", script, "\(error)"] + calls.map { "\($0)" } + ["--"]
        }

        #if arch(x86_64)
            @Test(
                "Newer calls have a substitute: the program runs, and a hang is killed with its functions named",
                arguments: [
                    ("close_range", 436), ("openat2", 437), ("pidfd_getfd", 438), ("faccessat2", 439),
                    ("process_madvise", 440), ("memfd_create", 319), ("statx", 332), ("process_vm_readv", 310),
                ], refusals)
            func substituted(call: (name: String, number: Int), error: Int32) throws {
                let run = try Supervision(
                    ["--update", "1s"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#),
                    wrapper: Self.denying([call.number], with: error))
                let ending = try run.end()
                #expect(ending.exitCode == 137, "\(call.name): \(ending.errors)")
                #expect(ending.reports.count == 1, "\(call.name): \(ending.errors)")
            }

            @Test(
                "A call that watchdogd needs is named in one line with the exit code 71, and nothing is launched",
                arguments: [
                    ("pidfd_open", 434), ("pidfd_send_signal", 424), ("waitid", 247), ("timerfd_create", 283),
                    ("eventfd2", 290), ("signalfd4", 289), ("epoll_create1", 291), ("prctl", 157), ("socketpair", 53),
                ], refusals)
            func needed(call: (name: String, number: Int), error: Int32) throws {
                // The filter itself is installed by prctl(2), and by nothing afterwards.
                let program = try Program(
                    Self.denying([call.number], with: error) + [
                        product("watchdogd"), "run", "--reports", "none", "--readiness", "none", "--", "/bin/echo",
                        "ran",
                    ])
                #expect(try program.end().code == 71, "\(call.name): \(program.text(.errors))")
                #expect(program.text(.output) == "")
                let lines = program.text(.errors).split(separator: "\n")
                #expect(lines.count == 1 && lines.first?.contains("refuses \(call.name)(2): ") == true, "\(lines)")
            }
        #endif

        /// The commands that supervise, with all that they need in a scratch directory.
        private static func supervising(_ command: String, in scratch: Scratch) throws -> [String] {
            switch command {
            case "run":
                return [
                    product("watchdogd"), "run", "--reports", "none", "--readiness", "none", "--", "/bin/echo", "ran",
                ]
            case "serve":
                _ = try scratch.makeDirectory("apps")
                try scratch.write("[App]\nExecStart=/bin/echo ran\n", to: "apps/app.app")
                return [
                    product("watchdogd"), "serve", "--config", scratch["apps"], "--control", scratch["control"],
                    "--reports", scratch["reports"], "--no-history",
                ]
            default:
                return [
                    product("watchdogd"), "observe", "\(getpid())", "--probe", "tcp:127.0.0.1:1", "--reports",
                    scratch.path, "--for", "100ms",
                ]
            }
        }

        @Test(
            "Without a /proc of its own, watchdogd says so in one line with the exit code 71, and launches nothing",
            .enabled(if: geteuid() == 0, "needs root"),
            arguments: [
                (["unshare", "--mount", "sh", "-c", #"umount -l /proc && exec "$@""#, "sh"], "/proc is not mounted"),
                (["unshare", "--pid", "--fork"], "/proc belongs to another pid namespace"),
            ], ["run", "serve", "observe"])
        func noProc(surroundings: (wrapper: [String], reason: String), command: String) throws {
            let program = try Program(surroundings.wrapper + Self.supervising(command, in: Scratch()))
            #expect(try program.end().code == 71, "\(program.text(.errors))")
            #expect(program.text(.output) == "")
            let lines = program.text(.errors).split(separator: "\n")
            #expect(lines.count == 1 && lines.first?.contains(surroundings.reason) == true, "\(lines)")
        }

        /// What is missing, as a wrapper takes it away, the words about it, and the commands that say them.
        private static let shortcomings: [(wrapper: String, words: String, commands: [String])] = [
            (#"umount -l /sys/fs/cgroup && exec "$@""#, "no cgroup: ", ["run", "serve"]),
            (
                "mount -t tmpfs tmpfs /mnt && { cp -r /proc/sys/kernel/. /mnt || true; } 2>/dev/null && "
                    + "mkdir -p /mnt/yama && echo 3 > /mnt/yama/ptrace_scope && "
                    + #"mount --bind /mnt /proc/sys/kernel && exec "$@""#,
                "Yama's ptrace_scope is 3", ["run", "serve", "observe"]
            ),
        ]

        @Test(
            "What is missing is said in one line at the start, and everything else works",
            .enabled(if: hasAllRights, "needs root"), arguments: [0, 1], ["run", "serve", "observe"])
        func shortcoming(index: Int, command: String) throws {
            let (wrapper, words, commands) = Self.shortcomings[index]
            let scratch = try Scratch()
            let program = try Program(
                ["unshare", "--mount", "sh", "-c", wrapper, "sh"] + Self.supervising(command, in: scratch))
            switch command {
            case "run": try program.line("ran")
            case "serve":
                #expect(eventually { scratch.exists("control") })
                try program.send(SIGTERM)
            default: break
            }
            let status = try program.end()
            #expect(status == .exited(code: 0), "\(program.text(.errors))")
            let lines = program.text(.errors).split(separator: "\n")
            #expect(lines.count { $0.contains(words) } == (commands.contains(command) ? 1 : 0), "\(lines)")
        }
    }
}
