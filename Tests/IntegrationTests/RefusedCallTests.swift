// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogReport

extension EndToEnd {
    /// Old kernels lack system calls (ENOSYS), and the seccomp profiles of older container engines reject unknown ones
    /// (EPERM).
    ///
    /// Siblings: a container without ptrace, perf events or user namespaces, and a partly hidden /proc.
    @Suite("Rejected system calls and missing parts of /proc")
    struct RefusedCallTests {
        private static let refusals = [EPERM, ENOSYS]

        /// Runs the command after `--` under a filter that fails the calls before it.
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
            /// Calls that have a substitute, or whose results a report can lack.
            private static let substitutable = [
                ("close_range", 436), ("openat2", 437), ("pidfd_getfd", 438), ("faccessat2", 439),
                ("process_madvise", 440), ("memfd_create", 319), ("statx", 332), ("process_vm_readv", 310),
                ("ptrace", 101), ("mount", 165), ("unshare", 272), ("perf_event_open", 298), ("sched_setattr", 314),
                ("seccomp", 317), ("getrandom", 318), ("rseq", 334), ("epoll_pwait2", 441),
                ("landlock_create_ruleset", 444), ("landlock_add_rule", 445), ("landlock_restrict_self", 446),
                ("cachestat", 451),
            ]

            /// Calls without which nothing can be supervised.
            private static let indispensable = [
                ("pidfd_open", 434), ("pidfd_send_signal", 424), ("waitid", 247), ("timerfd_create", 283),
                ("eventfd2", 290), ("signalfd4", 289), ("epoll_create1", 291), ("prctl", 157), ("socketpair", 53),
            ]

            /// Calls whose substitute in recording is another rung.
            private static let recorders = [
                ("fsopen", 430), ("fsconfig", 431), ("fsmount", 432), ("perf_event_open", 298), ("ptrace", 101),
                ("pidfd_getfd", 438),
            ]

            @Test(
                "Newer calls have a substitute: the program runs, and a hang is killed with its functions named",
                arguments: substitutable, refusals)
            func substituted(call: (name: String, number: Int), error: Int32) throws {
                let run = try Supervision(
                    ["--update", "1s"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#),
                    wrapper: Self.denying([call.number], with: error))
                let ending = try run.end()
                #expect(ending.exitCode == 137, "\(call.name): \(ending.errors)")
                #expect(ending.reports.count == 1, "\(call.name): \(ending.errors)")
            }

            @Test("A launch is recorded, if necessary on another rung", arguments: recorders, refusals)
            func recorded(call: (name: String, number: Int), error: Int32) throws {
                let program = try Program(
                    Self.denying([call.number], with: error) + [
                        product("watchdogd"), "record", "--", "/bin/echo", "ran",
                    ])
                #expect(try program.end().code == 0, "\(call.name): \(program.text(.errors))")
                #expect(program.text(.output).hasPrefix("ran\n"), "\(program.text(.output))")
            }

            @Test("A report says that perf events were refused, and claims no phase", arguments: refusals)
            func unrecorded(error: Int32) throws {
                let ending = try Supervision(
                    ["--launch", "500ms", "--readiness", "notify"], ["/bin/sleep", "1000"],
                    wrapper: Self.denying([298], with: error)
                ).end()
                #expect(ending.exitCode == 137)
                let launch = try #require(ending.reports.first?.body.linux?.launch)
                #expect(launch.unrecorded?.contains("a seccomp filter") == true, "\(launch.lines)")
                #expect(launch.phases.map(\.name) == ["exec", "ready"])
                #expect(launch.phases.allSatisfy { $0.runningNanoseconds == nil && $0.blockedNanoseconds == nil })
            }

            @Test(
                "A call that watchdogd needs is named in one line with exit code 71, and nothing is launched",
                arguments: indispensable, refusals)
            func needed(call: (name: String, number: Int), error: Int32) throws {
                // Only the filter itself uses prctl(2), to install itself.
                try expectNamed(call, error)
            }

            @Test("Threads need clone3, or the older call if it does not exist", arguments: refusals)
            func threads(error: Int32) throws {
                guard error == ENOSYS else { return try expectNamed(("clone3", 435), error) }
                try substituted(call: ("clone3", 435), error: error)
            }

            private func expectNamed(_ call: (name: String, number: Int), _ error: Int32) throws {
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

            // MARK: - The set of calls

            /// The newest call of Linux 3.13: every kernel has those up to it, and every profile knows them.
            private static let lastOfAll = 313

            /// Older calls that Docker's default profile rejects: docs.docker.com, "Significant syscalls blocked by the
            /// default profile".
            private static let blocked: Set<String> = [
                "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module",
                "finit_module", "get_kernel_syms", "get_mempolicy", "init_module", "ioperm", "iopl", "kcmp",
                "kexec_load", "keyctl", "lookup_dcookie", "mbind", "mount", "move_pages", "nfsservctl",
                "open_by_handle_at", "perf_event_open", "personality", "pivot_root", "process_vm_readv",
                "process_vm_writev", "ptrace", "query_module", "quotactl", "reboot", "request_key", "set_mempolicy",
                "setns", "settimeofday", "swapon", "swapoff", "sysfs", "umount2", "unshare", "uselib", "ustat",
            ]

            /// The names and numbers of all calls in the kernel's headers.
            private static func numbers() throws -> [String: Int] {
                let header = try Program(shell("echo '#include <asm/unistd.h>' | cc -E -dM -"))
                try #require(try header.end() == .exited(code: 0), "\(header.text(.errors))")
                let pairs = header.text(.output).split(separator: "\n").compactMap { line -> (String, Int)? in
                    let words = line.split(separator: " ")
                    guard words.count == 3, words[1].hasPrefix("__NR_"), let number = Int(words[2]) else { return nil }
                    return (String(words[1].dropFirst("__NR_".count)), number)
                }
                return Dictionary(pairs, uniquingKeysWith: { $1 })
            }

            /// The libc functions that a program uses, some of them under the names of their calls.
            private static func imports(of program: String) throws -> Set<String> {
                let listing = try Program(["nm", "-D", "--undefined-only", program])
                try #require(try listing.end() == .exited(code: 0), "\(listing.text(.errors))")
                return Set(
                    listing.text(.output).split(separator: "\n").compactMap {
                        $0.split(separator: " ").last?.split(separator: "@").first.map(String.init)
                    })
            }

            /// The calls that the C sources make without libc.
            private static func direct() throws -> Set<String> {
                let sources = try Program(
                    shell(
                        "exec grep -ohE \"$1\" \"$2\"/*/*/*.[ch]", #"(syscall\(SYS_|(CALL|syscall6)\(__NR_)\w+"#,
                        "\(subjects)/../../../Sources"))
                try #require(try sources.end() == .exited(code: 0), "\(sources.text(.errors))")
                let matches = sources.text(.output).split(separator: "\n")
                return Set(matches.compactMap { $0.split(separator: #/SYS_|__NR_/#).last.map(String.init) })
            }

            @Test(
                "Every call that watchdogd makes and that may be rejected is tested above",
                .enabled(if: isInstalled("cc")))
            func allCalls() throws {
                let numbers = try Self.numbers()
                try #require(numbers["pidfd_open"] == 434, "the kernel's headers")
                let direct = try Self.direct()
                #expect(direct.isSuperset(of: ["pidfd_open", "clone3", "close_range", "exit_group"]), "\(direct)")
                let made = try Self.imports(of: product("watchdogd")).intersection(numbers.keys).union(direct)
                #expect(made.isSuperset(of: ["timerfd_create", "epoll_create1", "waitid"]), "\(made.sorted())")
                let refusable = made.filter { numbers[$0].map { $0 > Self.lastOfAll } ?? true }
                    .union(made.intersection(Self.blocked))
                let tried = Set((Self.substitutable + Self.indispensable + Self.recorders).map(\.0)).union(["clone3"])
                #expect(refusable.subtracting(tried) == [], "add them to a list above")
                // A mistyped number would reject another call.
                for (name, number) in Self.substitutable + Self.indispensable + Self.recorders {
                    #expect(numbers[name].map { $0 == number } ?? true, "\(name)")
                }
            }
        #endif

        /// The supervising commands, with their files in a scratch directory.
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
            "Without its own /proc, watchdogd reports that in one line with exit code 71, and launches nothing",
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

        /// A missing feature, the wrapper that removes it, the message, and the commands that print it.
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
            "A missing feature is reported in one line at the start, and everything else works",
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
