// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogMeasurement
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    /// Every hang of the zoo under the real watchdogd, with the number of right verdicts.
    ///
    /// `ZOO=deadlock,spin` runs only these kinds. `ZOO=all` also runs all of them on a busy machine, instead of every
    /// fourth one.
    @Suite("The zoo of hangs")
    struct ZooTests {
        /// The machine's load.
        enum Load: String, CaseIterable {
            case quiet
            /// Four processes compute, and four write to the disk.
            case busy
        }

        /// The number of right verdicts.
        private struct Tally {
            var right = 0
            var count = 0
            /// Kinds whose report has an empty stack.
            var withoutFrames: [String] = []
        }

        /// The number of simultaneous hangs; those that need a CPU run alone.
        private static let crowd = 8

        @Test(
            "The verdict, the call and the frames are right for 98 % on a quiet machine, and for 95 % on a busy one",
            arguments: Load.allCases)
        func zoo(load: Load) throws {
            let scratch = try Scratch()
            let others = try load == .busy ? Self.others(in: scratch) : []
            defer { withExtendedLifetime(others) {} }
            let program = try compiled(in: scratch)
            let runtime = try compiledRuntime(in: scratch)
            let entries = Self.wanted(load).filter { $0.program != .runtime || runtime != nil }
            if runtime == nil, load == .quiet { print("zoo: Swift's runtime skipped: there is no swiftc") }
            let possible = entries.filter { isRoot || !$0.needsRoot }
            for entry in entries where !isRoot && entry.needsRoot && load == .quiet {
                print("zoo: \(entry.kind) skipped: needs root")
            }
            let meter = NoiseMeter()
            var tally = Tally()
            var rest = possible.filter { !$0.needsCPU }[...]
            while !rest.isEmpty {
                let batch = try rest.prefix(Self.crowd).map { ($0, try launch($0, program, runtime)) }
                for (entry, supervision) in batch { try check(entry, supervision, load, &tally) }
                rest = rest.dropFirst(Self.crowd)
            }
            for entry in possible where entry.needsCPU {
                let competitors = try entry.kind == "starved" ? Self.competitors() : []
                defer { withExtendedLifetime(competitors) {} }
                try check(entry, try launch(entry, program, runtime), load, &tally)
            }
            // Other tests may run beside this one, and the hypervisor may take the CPUs.
            let noise = try #require(meter.noise())
            let isQuiet = load == .quiet && noise.sentences.isEmpty
            let shares = [noise.others, noise.stolen].map { Int($0 * 100) }
            print(
                "zoo, \(load): \(tally.right) right of \(tally.count); others had \(shares[0]) % of the CPUs, the hypervisor "
                    + "\(shares[1]) %")
            // A process has few samples: one in fifty may be described incompletely, and one in twenty if others take
            // the CPU.
            #expect(tally.right * 100 >= tally.count * (isQuiet ? 98 : 95))
            // If others take the CPUs, a thread may not get one on which to stop for as long as the capture waits.
            for kind in tally.withoutFrames { print("zoo, \(load): without frames: \(kind)") }
            #expect(tally.withoutFrames.count * 50 <= (isQuiet ? 0 : tally.count), "\(tally.withoutFrames)")
        }

        @Test("A program that is busy but answers is not killed")
        func busyButAnswering() throws {
            let scratch = try Scratch()
            let ending = try supervise(
                ["--update", "600ms", "--ping", "100ms"], [try compiled(in: scratch), "busy_but_answering"])
            #expect(ending.exitCode == 0)
            #expect(ending.reports.isEmpty)
        }

        @Test("A task that waits forever is not a hang of the main loop, which answers")
        func waitingTask() throws {
            let run = try Supervision(
                ["--update", "1s", "--ping", "100ms"],
                [product("HangMain"), "--how", "continuation", "--after", "0.1"])
            #expect(try run.program.lives(for: .milliseconds(2_500)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.incidents.isEmpty == true)
            #expect(ending.reports.isEmpty)
        }

        @Test("A hang that ends by itself has a report with its length, its call and its stack")
        func hangReport() throws {
            let scratch = try Scratch()
            let ending = try supervise(
                ["--hang-reports", "500ms", "--ping", "100ms"], [try compiled(in: scratch), "hang_and_recover", "1500"])
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.isEmpty == true)
            let report = try #require(ending.reports.first)
            #expect(ending.reports.count == 1)
            let linux = try #require(report.body.linux)
            #expect(linux.kind == .hang)
            #expect(report.metadata.linux?.event == "hang")
            #expect(report.body.isSimulated == 1)
            #expect((1_200_000_000...6_000_000_000).contains(linux.allowance.elapsedNanoseconds))
            #expect(linux.verdict.kind == .blocked)
            #expect(linux.verdict.line.contains("in clock_nanosleep"))
            #expect(linux.samples?.calls.contains { $0.function == "usleep" } == true)
            #expect(linux.samples?.calls.first { $0.function == "main" }?.count == linux.samples?.looks)
            let samples = try #require(linux.samples)
            #expect(samples.spans?.reduce(0) { $0 + $1.count } == samples.looks)
            #expect((0..<linux.allowance.elapsedNanoseconds).contains(samples.beganNanoseconds ?? -1))
            #expect(samples.stacks?.contains { $0.state == "S" && $0.place == "blocked in clock_nanosleep" } == true)
            #expect(frames(of: report).contains("usleep"))
            #expect(ending.messages.contains { $0.contains("answered again after") })
        }

        @Test("With hang reports turned off, a hang that ends by itself has none")
        func noHangReport() throws {
            let scratch = try Scratch()
            let ending = try supervise(
                ["--hang-reports", "off", "--ping", "100ms"], [try compiled(in: scratch), "hang_and_recover", "1000"])
            #expect(ending.exitCode == 0)
            #expect(ending.reports.isEmpty)
        }

        // MARK: - Running

        private static func wanted(_ load: Load) -> [ZooEntry] {
            guard let kinds = getenv("ZOO").map({ String(cString: $0).split(separator: ",") }) else {
                return ZooEntry.all.enumerated().filter { load == .quiet || $0.offset % 4 == 0 }.map(\.element)
            }
            return kinds == ["all"] ? ZooEntry.all : ZooEntry.all.filter { kinds.contains($0.kind[...]) }
        }

        private static func others(in scratch: Scratch) throws -> [Program] {
            try (1...4).flatMap { number in
                let file = scratch["load-\(number)"]
                let write = "while :; do dd if=/dev/zero of=\(file) bs=1M count=64 conv=fsync 2>/dev/null; done"
                return try ["while :; do :; done", write].map { work in
                    // They are killed with the tests, however those end.
                    try Program(["setpriv", "--pdeathsig", "KILL", "sh", "-c", work])
                }
            }
        }

        /// Programs that take the first CPU.
        private static func competitors() throws -> [Program] {
            try (1...4).map { _ in
                try Program(
                    ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
            }
        }

        private func compiled(in scratch: Scratch) throws -> String {
            let path = scratch["zoo"]
            try compileZoo(to: path)
            return path
        }

        /// Nil if there is no compiler for it.
        private func compiledRuntime(in scratch: Scratch) throws -> String? {
            guard isInstalled("swiftc") else { return nil }
            let path = scratch["zoo-runtime"]
            let compiler = try Program(
                [
                    "swiftc", "-O", "-g", "-swift-version", "6", "-parse-as-library", "-o", path,
                    "\(subjects)/zoo.swift",
                ],
                directory: scratch.path)
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
            return path
        }

        private func launch(_ entry: ZooEntry, _ program: String, _ runtime: String?) throws -> Supervision {
            let servers = ["/usr/bin/python3", "\(subjects)/zoo_servers.py"]
            let command =
                switch entry.program {
                case .c: [program, entry.kind]
                case .python: ["/usr/bin/python3", "\(subjects)/zoo.py", entry.kind]
                case .swift: [product("HangMain"), "--how", entry.kind, "--after", "0.2"]
                case .runtime: servers + ["swift_\(entry.kind)", runtime ?? ""]
                case .server: servers + [entry.kind]
                }
            // Another program starts it, and makes it the main process once it hangs.
            let isIndirect = [.runtime, .server].contains(entry.program)
            let scratch = try Scratch()
            return try Supervision(
                [
                    "--update", "700ms", "--ping", "100ms", "--chdir", scratch.path, "--env",
                    "ZOO_ID=\(identity(entry))",
                ] + (isIndirect ? ["--readiness", "notify", "--launch", "60s"] : [])
                    + (entry.probe.map { probing("\(scratch.path)/\($0)") } ?? []),
                command, scratch: scratch)
        }

        private func probing(_ socket: String) -> [String] {
            [
                "--env", "ZOO_PROBED=1", "--probe", "unix:\(socket)", "--probe-interval", "400ms", "--probe-timeout",
                "400ms",
            ]
        }

        private func identity(_ entry: ZooEntry) -> String { "\(getpid())-\(entry.kind)" }

        // MARK: - Judging

        private func check(
            _ entry: ZooEntry, _ supervision: Supervision, _ load: Load, _ tally: inout Tally
        ) throws {
            let ending = try supervision.end()
            removeSharedMemory(of: supervision)
            if entry.program == .server, ending.exitCode == 3 {
                print("zoo: \(entry.kind) skipped: \(ending.output.split(separator: "\n").last ?? "no reason given")")
                return
            }
            for root in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
                rmdir("\(root)/watchdogd-zoo-\(identity(entry))")
            }
            if entry.kind == "throttled", ending.exitCode == 3 {
                print("zoo: throttled skipped: no cgroup of version 1 with a CPU quota here")
                return
            }
            let faults = faults(entry, ending, load)
            guard entry.miss == nil else {
                print(
                    "zoo: \(entry.kind): known miss: \(entry.miss ?? "")"
                        + (faults.isEmpty ? " (found all the same)" : ""))
                return
            }
            tally.count += 1
            tally.right += faults.isEmpty ? 1 : 0
            if let report = ending.reports.first, isStackless(report), entry.frame != "" {
                tally.withoutFrames.append("\(entry.kind): \(howCaptured(report))")
            }
            for fault in faults { print("zoo: \(entry.program) \(entry.kind) is wrong: \(fault)") }
        }

        /// Removes the segment that a killed postmaster leaves, which prevents a second one from starting;
        /// postmaster.pid has its id in line 7.
        private func removeSharedMemory(of supervision: Supervision) {
            let lines = supervision.scratch.read("data/postmaster.pid")?.split(separator: "\n") ?? []
            guard lines.count >= 7, let id = lines[6].split(separator: " ").last.flatMap({ Int32($0) }) else { return }
            shmctl(id, IPC_RMID, nil)
        }

        private func faults(_ entry: ZooEntry, _ ending: Ending, _ load: Load) -> [String] {
            guard let report = ending.reports.first, let linux = report.body.linux else {
                return ["no report; exit code \(ending.exitCode): \(ending.errors.suffix(3))"]
            }
            var faults: [String] = []
            let verdict = linux.verdict
            if verdict.kind != entry.verdict, !isExcused(entry, verdict) {
                faults.append("verdict \(verdict.kind.rawValue), not \(entry.verdict.rawValue): \(verdict.line)")
            }
            // Java's launcher only waits for the thread that runs the program.
            if let call = entry.call, report.decidingStack?.systemCall?.name != call {
                faults.append("call \(report.decidingStack?.systemCall?.name ?? "none"), not \(call)")
            }
            let frame = entry.frame ?? "hang_\(entry.kind)"
            // Without a CPU a thread does not stop either, and the report states that.
            let hasNoCPU = entry.verdict == .starved && gotNoCPU(report)
            // A computing thread is occasionally elsewhere for a moment, and the samples show its usual place.
            let sampled = entry.needsCPU ? linux.samples?.calls.map(\.function) ?? [] : []
            if !frame.isEmpty, !hasNoCPU, !(frames(of: report) + sampled).contains(where: { $0.hasPrefix(frame) }) {
                faults.append("no frame \(frame): \(frames(of: report)), \(howCaptured(report))")
            }
            if let finding = entry.finding, linux.findings?.contains(where: { $0.kind == finding }) != true {
                faults.append("finding \(finding.rawValue) is missing: \(linux.findings?.map(\.kind.rawValue) ?? [])")
            }
            let whole = ([verdict.line] + (report.body.applicationSpecificInformation?["watchdogd"] ?? [])).joined(
                separator: "\n")
            if let line = entry.line, !whole.contains(line) { faults.append("not said: \(line): \(verdict.line)") }
            if let absent = entry.absent, whole.contains(absent) { faults.append("said: \(absent): \(whole)") }
            let others = linux.processes ?? []
            for member in entry.members where !others.contains(where: { member.isDescribed(by: $0) }) {
                faults.append("no process \(member): \(others.map { ZooEntry.Member.describe($0) })")
            }
            if let own = entry.own, let explained = Explanation(of: report).calls.first?.function,
                !explained.hasPrefix(own)
            {
                faults.append("the app's call is \(explained), not \(own)")
            }
            let blame = Blame(for: report)
            // Beside others that compute, the app alone does not take the CPUs.
            let isShared = entry.verdict == .starved && load == .busy && blame.party == .machine
            if blame.party != entry.party, !isShared, !isExcused(entry, verdict) {
                faults.append("fault \(blame.party.rawValue), not \(entry.party.rawValue): \(blame.reason)")
            }
            // Beside others that compute, a process may have less than half of a CPU.
            if let culprit = entry.culprit, !blame.reason.contains(culprit), !(entry.needsCPU && load == .busy) {
                faults.append("fault without \(culprit): \(blame.reason)")
            }
            return faults
        }

        /// If others took the CPU, that is the right verdict, and the report then names them.
        private func isExcused(_ entry: ZooEntry, _ verdict: Verdict) -> Bool {
            let isCrowded = (verdict.waitingTenths ?? 0) >= 50
            switch entry.verdict {
            // Time that the hypervisor or others took is a wait for a CPU.
            case .spinning where verdict.kind == .busy: return (verdict.waitingTenths ?? 0) >= 100
            case .spinning, .partlyRunning: return isCrowded && [.busy, .starved].contains(verdict.kind)
            case .blocked: return isCrowded && entry.needsCPU && verdict.kind == .partlyRunning
            default: return false
            }
        }

        private func frames(of report: Report) -> [String] {
            report.decidingStack?.calls.compactMap(\.function) ?? []
        }

        /// Whether the main thread's stack is empty; only root can give a thread a CPU on which to stop.
        private func isStackless(_ report: Report) -> Bool {
            report.body.threads[report.body.faultingThread].frames.isEmpty && (isRoot || !gotNoCPU(report))
        }

        private func gotNoCPU(_ report: Report) -> Bool {
            report.body.linux?.capture?.methodReason?.contains("got no CPU") == true
        }

        /// A failure message about a stack: whether the frames or only their names are missing, and why.
        private func howCaptured(_ report: Report) -> String {
            let capture = report.body.linux?.capture
            let frames = report.body.threads[report.body.faultingThread].frames.count
            let notes = (capture.map { [$0.methodReason].compactMap(\.self) + $0.notes } ?? []).joined(separator: "; ")
            return "\(frames) frames by \(capture?.method.rawValue ?? "nothing"): \(notes)"
        }
    }
}
