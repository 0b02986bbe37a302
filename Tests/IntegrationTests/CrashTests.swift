// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Crashes")
    struct CrashTests {
        /// Whether this kernel writes cores to files, and is permitted to.
        private static let hasCores: Bool = {
            guard case .file = CorePattern.current(), let limit = try? ResourceLimit.current(.core),
                limit.hard > 1 << 28
            else {
                print("skipped: kernel.core_pattern names no file, or the hard limit on cores is too low")
                return false
            }
            return true
        }()

        /// The folder for cores that are not written to the working directory: core(5).
        private static let coreFolder: String? = {
            let pattern = String(decoding: contents(of: "/proc/sys/kernel/core_pattern") ?? [], as: UTF8.self)
            guard pattern.hasPrefix("/"), let slash = pattern.lastIndex(of: "/") else { return nil }
            return String(pattern[..<slash])
        }()

        private func compiled(in scratch: Scratch) throws -> String {
            let path = scratch["photos"]
            let compiler = try Program(["cc", "-O1", "-g", "-pthread", "-o", path, "\(subjects)/crash.c"])
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
            return path
        }

        private func crash(_ options: [String], _ arguments: String...) throws -> Ending {
            let scratch = try Scratch()
            return try Supervision(unhurried(options), [try compiled(in: scratch)] + arguments, scratch: scratch).end()
        }

        private func details(_ ending: Ending, sourceLocation: SourceLocation = #_sourceLocation) throws -> LinuxDetails
        {
            #expect(ending.reports.count == 1, sourceLocation: sourceLocation)
            let linux = try #require(ending.reports.first?.body.linux, sourceLocation: sourceLocation)
            #expect(linux.kind == .crash, sourceLocation: sourceLocation)
            #expect(ending.reports.first?.metadata.linux?.event == "crash", sourceLocation: sourceLocation)
            #expect(ending.summary?.report == ending.reportPaths.first, sourceLocation: sourceLocation)
            #expect(ending.summary?.incidents.isEmpty == true, sourceLocation: sourceLocation)
            return linux
        }

        private func functions(_ thread: ThreadInfo?) -> [String] { thread?.frames.compactMap(\.symbol) ?? [] }

        // MARK: - With stacks

        @Test(
            "A null pointer in another thread is reported with address, thread and all stacks, and the core is removed",
            .enabled(if: hasCores))
        func nullPointer() throws {
            let ending = try crash(["--crash-stacks"], "thread")
            #expect(ending.exitCode == 128 + SIGSEGV)
            let linux = try details(ending)
            let body = ending.reports[0].body
            let crash = try #require(linux.crash)
            #expect(crash.signalName == "SIGSEGV" && crash.codeName == "SEGV_MAPERR" && crash.address == 4)
            #expect(crash.isCoreDumped && !crash.wasEnding && crash.senderPID == nil)
            #expect(crash.stackSource == .core)
            let folder = Self.coreFolder ?? ending.scratch.path
            let source = "taken at the crash, as requested, from the core file \(folder)/"
            #expect(crash.stacks.hasPrefix(source))
            #expect(names(in: ending.scratch.path).filter { $0.hasPrefix("core") } == [])
            #expect(body.exception.type == "EXC_BAD_ACCESS")
            #expect(body.exception.subtype == "KERN_INVALID_ADDRESS at 0x0000000000000004")
            #expect(body.termination?.indicator == "Segmentation fault: 11")
            #expect(body.isSimulated == nil)
            #expect(body.faultingThread == 1 && body.threads.count == 2)
            #expect(body.threads[0].id == body.pid && body.threads[1].id == crash.thread)
            #expect(functions(body.threads[1]).prefix(3) == ["parse_header", "read_album", "import"])
            #expect(functions(body.threads[0]).contains("main"))
            #expect(body.threads[1].threadState?.registers["rip"] != nil)
            #expect(
                linux.verdict.line
                    == "Crashed: SIGSEGV at 0x4 (where no memory is mapped) in parse_header (crash.c:19), "
                    + "on thread \(crash.thread ?? 0)")
            #expect(
                ending.messages == [
                    "watchdogd: photos[\(body.pid)] crashed" + linux.verdict.line.dropFirst("Crashed".count)
                        + " (core dumped)"
                ])
            #expect(!ending.errors.contains { $0.contains("was killed by SIGSEGV") })
        }

        @Test(
            "A stack overflow is reported as such, with the recursive function and its first caller",
            .enabled(if: hasCores),
            arguments: [
                (
                    "overflow", "descend", "which calls itself, begun by main (crash.c:",
                    ["descend", "descend", "descend"]
                ),
                (
                    "overflow-in-thread", "resolve_other",
                    "which recurses through resolve_album, begun by resolve (crash.c:",
                    ["resolve_other", "resolve_album", "resolve_other"]
                ),
            ])
        func overflow(how: String, function: String, recursion: String, frames: [String]) throws {
            let ending = try crash(["--crash-stacks"], how)
            #expect(ending.exitCode == 128 + SIGSEGV)
            let linux = try details(ending)
            let line = linux.verdict.line
            #expect(line.hasPrefix("Crashed: stack overflow in "), "\(line)")
            #expect(line.contains("\(function) (crash.c:") && line.contains(", \(recursion)"), "\(line)")
            let body = ending.reports[0].body
            let names = functions(body.threads[body.faultingThread])
            // snprintf may have needed the last of the stack.
            #expect(Array(names.drop { $0 != frames[0] }.prefix(3)) == frames)
            #expect(names.count > 100)
            let outer = how == "overflow" ? ["descend", "main"] : ["resolve_album", "resolve", "start_thread"]
            #expect(names.indices.contains { Array(names[$0...].prefix(outer.count)) == outer }, "\(names.suffix(8))")
        }

        @Test(
            "A jump to a bad address names the function that jumped, not one that happens to precede the address",
            .enabled(if: hasCores), arguments: ["data", "nothing"])
        func jump(target: String) throws {
            let ending = try crash(["--crash-stacks"], "jump", target)
            #expect(ending.exitCode == 128 + SIGSEGV)
            let line = try details(ending).verdict.line
            #expect(line.contains(") in visit (crash.c:") && line.hasSuffix("), which jumped there"), "\(line)")
            let body = ending.reports[0].body
            #expect(body.threads[0].frames.first?.symbol == nil)
            #expect(functions(body.threads[0]).prefix(2) == ["visit", "main"])
        }

        @Test(
            "Behind a hanging signal handler, the interrupted code is shown, on any stack",
            arguments: [
                (["handler"], ["notify_albums", "main"]), (["restorer"], ["notify_albums", "main"]),
                (["handler", "overflow"], ["descend", "descend"]),
            ])
        func interrupted(how: [String], frames: [String]) throws {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", "1s"], [try compiled(in: scratch)] + how, scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            let names = functions(ending.reports.first?.body.threads.first)
            let handler = try #require(names.firstIndex(of: "wait_in_handler"))
            #expect(Array(names[handler...].drop { !frames.contains($0) }.prefix(2)) == frames)
            // However deep the interrupted stack is.
            #expect(names.contains("main") && names.last == "_start", "\(names.suffix(8))")
        }

        @Test("abort() is raised by the program itself, and its caller is blamed", .enabled(if: hasCores))
        func aborted() throws {
            let ending = try crash(["--crash-stacks"], "abort")
            #expect(ending.exitCode == 128 + SIGABRT)
            let linux = try details(ending)
            #expect(linux.crash?.codeName == "SI_TKILL")
            #expect(linux.crash?.senderPID == ending.reports[0].body.pid)
            #expect(linux.verdict.line == "Crashed: SIGABRT in check_invariants (crash.c:32)")
            #expect(ending.reports[0].body.exception.type == "EXC_CRASH")
            #expect(functions(ending.reports[0].body.threads[0]).contains("abort"))
        }

        @Test("Python's os.abort() is a crash like any other", .enabled(if: hasCores))
        func python() throws {
            let ending = try supervise(
                ["--crash-stacks", "--name", "album"], ["/usr/bin/python3", "-c", "import os; os.abort()"])
            #expect(ending.exitCode == 128 + SIGABRT)
            let linux = try details(ending)
            #expect(linux.crash?.stackSource == .core)
            #expect(functions(ending.reports[0].body.threads[0]).contains("abort"))
            #expect(linux.verdict.line.hasPrefix("Crashed: SIGABRT in "))
        }

        @Test("A core that the program would have left anyway is read and kept", .enabled(if: hasCores))
        func ownCore() throws {
            let scratch = try Scratch()
            let program = try compiled(in: scratch)
            let ending = try Supervision(
                [], shell("ulimit -c unlimited; exec \"$@\"", program, "abort"), scratch: scratch
            )
            .end()
            let linux = try details(ending)
            #expect(linux.crash?.stacks.hasPrefix("from the core file \(scratch.path)/core") == true)
            #expect(names(in: scratch.path).contains { $0.hasPrefix("core") })
        }

        @Test("A program that changed its directory after it was ready is followed", .enabled(if: hasCores))
        func changedDirectory() throws {
            let scratch = try Scratch()
            let elsewhere = try scratch.makeDirectory("elsewhere")
            let ending = try supervise(
                ["--crash-stacks", "--readiness", "notify", "--name", "album"],
                Self.python("os.chdir(\"\(elsewhere)\")\nnotify(\"READY=1\")\nbarrier()\nos.abort()"))
            let linux = try details(ending)
            #expect(linux.crash?.stacks.contains("\(elsewhere)/core") == true, "\(linux.crash?.stacks ?? "")")
            #expect(names(in: elsewhere).isEmpty)
        }

        private static func python(_ source: String) -> [String] { IntegrationTests.python(source) }

        // MARK: - Without stacks

        @Test(
            "Without the option, the report states that there are no stacks, and how to get them",
            .enabled(if: hasCores))
        func noStacks() throws {
            let ending = try supervise(unhurried(["--name", "a"]), shell("ulimit -Sc 0; kill -SEGV $$"))
            let linux = try details(ending)
            #expect(linux.crash?.stackSource == StackSource.none)
            #expect(linux.crash?.stacks.hasPrefix("none: its limit on core files is 0; CrashStacks=yes") == true)
            #expect(ending.reports[0].body.threads.flatMap { $0.frames } == [])
            #expect(linux.verdict.line == "Crashed: SIGSEGV")
        }

        private typealias StackSource = CrashDetails.StackSource

        @Test("SIGKILL from somebody else yields a report without stacks, with a note")
        func killed() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                unhurried(["--crash-stacks"]), [try compiled(in: scratch), "pause"], scratch: scratch)
            try run.line("opening the album")
            let main = try #require(run.processes.first)
            kill(main, SIGKILL)
            let ending = try run.end()
            #expect(ending.exitCode == 128 + SIGKILL)
            let linux = try details(ending)
            #expect(linux.verdict.kind == .killed)
            #expect(linux.verdict.line == "Killed by SIGKILL, which watchdogd did not send")
            #expect(linux.crash?.stacks == "none: SIGKILL leaves no core")
        }

        @Test("A nonzero exit code has a report if configured, and none otherwise")
        func exitCode() throws {
            let wanted = try crash(["--crash-reports", "all"], "exit", "3")
            #expect(wanted.exitCode == 3)
            let linux = try details(wanted)
            #expect(linux.verdict.line == "Exited unexpectedly with code 3")
            #expect(linux.crash?.exitCode == 3)
            let said = wanted.errors.filter { $0.lowercased().contains("exited ") }
            let pid = wanted.reports.first?.body.pid ?? 0
            #expect(said == ["watchdogd: photos[\(pid)] exited unexpectedly with code 3"], "\(wanted.errors)")
            let unwanted = try crash([], "exit", "3")
            #expect(unwanted.exitCode == 3 && unwanted.reports.isEmpty)
        }

        @Test(
            "An exit that is not a crash has no report",
            arguments: [["exit", "0"], ["raise", "15"], ["raise", "2"], ["raise", "1"], ["raise", "13"]])
        func noCrash(arguments: [String]) throws {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--crash-reports", "all"], [try compiled(in: scratch)] + arguments, scratch: scratch
            ).end()
            #expect(ending.reports.isEmpty)
            #expect(ending.messages.isEmpty)
        }

        @Test("With reports turned off, a crash has none")
        func off() throws {
            let ending = try crash(["--crash-reports", "off"], "raise", "11")
            #expect(ending.exitCode == 128 + SIGSEGV)
            #expect(ending.reports.isEmpty)
        }

        @Test("A requested exit is not a crash, but a crash during it is", .enabled(if: hasCores))
        func onRequest() throws {
            for (how, count) in [("pause", 0), ("abort-at-end", 1)] {
                let scratch = try Scratch()
                let run = try Supervision(
                    ["--crash-reports", "all", "--crash-stacks"], [try compiled(in: scratch), how], scratch: scratch)
                try run.line("opening the album")
                // The handler is set a moment later.
                if how == "abort-at-end" {
                    let main = try #require(run.processes.first)
                    #expect(eventually { Self.catches(SIGTERM, main) })
                }
                try run.send(SIGTERM)
                let ending = try run.end()
                #expect(ending.reports.count == count, "\(how)")
                if count == 1 {
                    let linux = try details(ending)
                    #expect(linux.crash?.wasEnding == true)
                    #expect(
                        linux.verdict.line
                            == "Crashed: SIGABRT in check_invariants (crash.c:32), while it was ending")
                }
            }
        }

        private static func catches(_ signal: Int32, _ process: Int32) -> Bool {
            let status = contents(of: "/proc/\(process)/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
            let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
            let mask = line.flatMap { UInt64($0.dropFirst(7).trimming { $0 == "\t" }, radix: 16) } ?? 0
            return mask & (1 << UInt64(signal - 1)) != 0
        }

        @Test("A kill by the watchdog has its own report, and no crash report")
        func watchdog() throws {
            let ending = try supervise(
                ["--crash-reports", "all", "--crash-stacks", "--update", "600ms", "--name", "album"],
                Self.python("notify(\"READY=1\\nWATCHDOG=1\")\nhang()"))
            #expect(ending.exitCode == 137)
            #expect(ending.reports.map { $0.body.linux?.kind } == [.watchdog])
        }

        // MARK: - In the daemon

        private func app(_ command: String, _ rest: String = "", in directory: String) -> String {
            "[App]\nExecStart=\(command)\nWorkingDirectory=\(directory)\nStandardOutput=inherit\n[Watchdog]\n"
                + "Readiness=none\n\(rest)"
        }

        @Test(
            "The daemon reports a crash in status, events and reports, with the app's last lines",
            .enabled(if: hasCores))
        func daemon() throws {
            let scratch = try Scratch()
            let program = try compiled(in: scratch)
            let output = "[App]\nStandardOutput=append:\(scratch["output"])\n"
            let service = try Service(
                [
                    "photos": app(
                        "\(program) thread", "CrashStacks=yes\n[Restart]\nPolicy=never\n" + output, in: scratch.path),
                    "fails": app("\(program) exit 3", "[Restart]\nPolicy=never\n", in: scratch.path),
                    "done": app("\(program) exit 0", "[Restart]\nPolicy=never\n", in: scratch.path),
                    "quiet": app(
                        "\(program) exit 3", "CrashReports=signals\n[Restart]\nPolicy=never\n", in: scratch.path),
                ], scratch: scratch)
            let crashed = try service.wait(for: "photos") { $0.lastIncident?.report != nil }
            let incident = try #require(crashed.lastIncident)
            #expect(incident.kind == .crash)
            #expect(incident.summary == "was killed by SIGSEGV (core dumped)")
            #expect(
                incident.verdict?.hasPrefix("Crashed: SIGSEGV at 0x4 (where no memory is mapped) in parse_header")
                    == true)
            let report = try ReportCoding.decode(contents(of: incident.report ?? "") ?? [])
            #expect(report.body.linux?.crash?.stackSource == .core)
            #expect(report.body.linux?.log?.lines.map(\.text) == ["opening the album"])
            #expect(report.body.parentProc == "watchdogd")
            let failed = try service.wait(for: "fails") { $0.lastIncident?.report != nil }
            #expect(failed.lastIncident?.kind == .exit)
            #expect(failed.lastIncident?.verdict == "Exited unexpectedly with code 3")
            try service.wait(for: "quiet") { $0.state == .stopped && $0.lastIncident?.kind == .exit }
            try service.wait(for: "done") { $0.state == .stopped }
            #expect(try service.app("quiet").lastIncident?.report == nil)
            #expect(try service.app("done").lastIncident == nil)
            #expect(names(in: scratch["reports"]).count == 2)
            #expect(names(in: scratch.path).filter { $0.hasPrefix("core") } == [])

            let status = try service.command("status", "photos")
            // The last exit states it, and the incident does not repeat it.
            #expect(status.output.ranges(of: "was killed by SIGSEGV").count == 1)
            #expect(status.output.contains("Crashed: SIGSEGV"))
            let list = try Program([product("watchdogd"), "report", "list", "--reports", scratch["reports"]])
            #expect(try list.end() == .exited(code: 0))
            #expect(list.text(.output).contains("SIGSEGV in parse_header"))
            #expect(try service.end() == 0)
            #expect(
                service.program.text(.errors).contains("photos[\(report.body.pid)] crashed: SIGSEGV at 0x4 (where ")
            )
        }

        @Test("An app whose file is gone still gets its exit report, and the daemon continues")
        func removed() throws {
            let stubborn = "/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'"
            let service = try Service([
                "gone": app(stubborn, "Terminate=300ms\n", in: "/"), "stays": app("/bin/sleep 1000", in: "/"),
            ])
            let pid = try #require(try service.wait(for: "gone") { $0.state == .running && $0.pid != nil }.pid)
            // It runs once it has executed: before that, the shell has not yet ignored SIGTERM, bit 14 of the mask.
            #expect(
                eventually {
                    let status = contents(of: "/proc/\(pid)/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
                    let mask = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }?.dropFirst(7)
                    return mask.flatMap { UInt64($0.drop { $0 == "\t" }, radix: 16) }.map { $0 & 0x4000 != 0 } == true
                })
            service.remove("gone")
            #expect(try service.command("reload").code == 0)
            #expect(eventually { names(in: service.scratch["reports"]).count == 1 })
            #expect(try service.client.list().apps.map(\.name) == ["stays"])
            #expect(try service.end() == 0)
        }

        @Test("An app that crashes repeatedly gets five reports, and later crashes are announced without one")
        func loop() throws {
            let scratch = try Scratch()
            let service = try Service(
                [
                    "loop": app(
                        "/bin/sh -c 'kill -SEGV $$$$'",
                        "[Restart]\nLimit=8\nDelay=1ms\nMaxDelay=5ms\nAtLimit=stop\n", in: scratch.path)
                ], scratch: scratch)
            try service.wait(for: "loop") { $0.state == .failed && $0.restarts == 8 }
            #expect(eventually { names(in: scratch["reports"]).count == 5 })
            #expect(try service.end() == 0)
            #expect(names(in: scratch["reports"]).count == 5)
            #expect(service.program.text(.errors).contains("no report: 5 crashes of the last hour have one already"))
        }

        @Test("A crash found by the next watchdogd has a report; an exit with 0 has none")
        func survival() throws {
            let succession = try Succession([:], keepsDescriptors: true)
            let apps = ["crashes", "ends"].map { name in
                (name, succession.survivor(name, "") + "[Restart]\nPolicy=never\n")
            }
            try succession.add(Dictionary(uniqueKeysWithValues: apps))
            for (name, _) in apps { #expect(eventually { succession.log(name).contains { $0.what == "ping" } }) }
            let pids = try apps.map { try #require(try succession.app($0.0).pid) }
            try succession.killDaemon()
            kill(pids[0], SIGSEGV)
            kill(pids[1], SIGTERM)
            // A zombie has no command line; the test does not care who reaps it.
            for pid in pids { #expect(eventually { (contents(of: "/proc/\(pid)/cmdline") ?? []).isEmpty }) }
            try succession.succeed()
            #expect(
                eventually { (try? succession.app("crashes"))?.lastIncident?.report != nil })
            let report = try #require(try succession.app("crashes").lastIncident?.report)
            let body = try ReportCoding.decode(contents(of: report) ?? []).body
            #expect(body.linux?.crash?.signalName == "SIGSEGV")
            #expect(body.linux?.kind == .crash)
            #expect(try succession.app("ends").lastIncident == nil)
        }
    }
}

extension Substring {
    fileprivate func trimming(_ isBlank: (Character) -> Bool) -> Substring {
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
