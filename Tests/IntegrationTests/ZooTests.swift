// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
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

        /// What is judged about a report.
        private enum Dimension: String, CaseIterable {
            case verdict
            /// The call, what it waits for, and who keeps it waiting.
            case place = "on what"
            case frame
            case fault
        }

        private struct Mistake {
            let dimension: Dimension
            let text: String

            init(_ dimension: Dimension, _ text: String) { (self.dimension, self.text) = (dimension, text) }
        }

        /// The number of right reports.
        private struct Tally {
            var count = 0
            /// The reports without any mistake.
            var right = 0
            private var wrong: [Dimension: Int] = [:]
            /// Kinds whose report has an empty stack.
            var withoutFrames: [String] = []

            mutating func add(_ mistakes: [Mistake]) {
                count += 1
                right += mistakes.isEmpty ? 1 : 0
                for dimension in Set(mistakes.map(\.dimension)) { wrong[dimension, default: 0] += 1 }
            }

            func right(in dimension: Dimension) -> Int { count - wrong[dimension, default: 0] }

            var figures: String {
                Dimension.allCases.map { dimension in
                    let tenths = count == 0 ? 0 : right(in: dimension) * 1_000 / count
                    return "\(dimension.rawValue) \(right(in: dimension)) (\(tenths / 10).\(tenths % 10) %)"
                }.joined(separator: ", ")
            }
        }

        /// The number of simultaneous hangs; those that need a CPU run alone.
        private static let crowd = 8

        @Test(
            "Verdict, place, frames and fault are each right for 97 %, quiet and busy, and all of them for 98 or 95 %",
            arguments: Load.allCases)
        func zoo(load: Load) throws {
            let scratch = try Scratch()
            let spinners = try load == .busy ? Self.spinners() : []
            let writers = try load == .busy ? Self.writers(in: scratch) : []
            defer { withExtendedLifetime(spinners) {} }
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
                let batch = try rest.prefix(Self.crowd).map { ($0, try launch($0, program, runtime, load)) }
                for (entry, supervision) in batch { try check(entry, supervision, load, &tally) }
                rest = rest.dropFirst(Self.crowd)
            }
            // Filling the page cache computes, too: beside eight that do, nobody has a third of a CPU.
            for writer in writers {
                try writer.send(SIGKILL)
                try writer.end()
            }
            for entry in possible where entry.needsCPU {
                let competitors = try entry.kind == "starved" ? Self.competitors() : []
                defer { withExtendedLifetime(competitors) {} }
                try check(entry, try launch(entry, program, runtime, load), load, &tally)
            }
            // Other tests may run beside this one, and the hypervisor may take the CPUs.
            let noise = try #require(meter.noise())
            let isQuiet = load == .quiet && noise.sentences.isEmpty
            let shares = [noise.others, noise.stolen].map { Int($0 * 100) }
            print(
                "zoo, \(load): \(tally.right) right of \(tally.count): \(tally.figures); others had \(shares[0]) % of the "
                    + "CPUs, the hypervisor \(shares[1]) %")
            for dimension in Dimension.allCases {
                #expect(tally.right(in: dimension) * 100 >= tally.count * 97, "\(dimension.rawValue)")
            }
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

        private static func spinners() throws -> [Program] {
            // They are killed with the tests, however those end.
            try (1...4).map { _ in try Program(["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]) }
        }

        private static func writers(in scratch: Scratch) throws -> [Program] {
            try (1...4).map { number in
                let file = scratch["load-\(number)"]
                let write = "while :; do dd if=/dev/zero of=\(file) bs=1M count=64 conv=fsync 2>/dev/null; done"
                return try Program(["setpriv", "--pdeathsig", "KILL", "sh", "-c", write])
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

        private func launch(
            _ entry: ZooEntry, _ program: String, _ runtime: String?, _ load: Load
        ) throws -> Supervision {
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
            // What has a third of a CPU must run for a second before it is more than a victim.
            let isSlow = load == .busy && entry.verdict == .spinning
            return try Supervision(
                [
                    "--update", isSlow ? "2500ms" : "700ms", "--ping", "100ms", "--chdir", scratch.path, "--env",
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
            if entry.kind == "frozen_child" { try thaw(entry, supervision) }
            let ending = try supervision.end()
            removeSharedMemory(of: supervision)
            removeSystemVObjects(of: supervision)
            if entry.program == .server, ending.exitCode == 3 {
                print("zoo: \(entry.kind) skipped: \(ending.output.split(separator: "\n").last ?? "no reason given")")
                return
            }
            if entry.needsRoot { removeCgroups(of: entry) }
            if entry.needsRoot, ending.exitCode == 3 {
                print("zoo: \(entry.kind) skipped: no cgroup with a CPU quota or a freezer here")
                return
            }
            let mistakes = mistakes(entry, ending, load)
            guard entry.miss == nil else {
                print(
                    "zoo: \(entry.kind): known miss: \(entry.miss ?? "")"
                        + (mistakes.isEmpty ? " (found all the same)" : ""))
                return
            }
            tally.add(mistakes)
            if let report = ending.reports.first, isStackless(report), entry.frame != "" {
                tally.withoutFrames.append("\(entry.kind): \(howCaptured(report))")
            }
            for mistake in mistakes {
                print("zoo: \(entry.program) \(entry.kind) is wrong, \(mistake.dimension.rawValue): \(mistake.text)")
            }
        }

        /// Removes the semaphores and queues that a killed program leaves.
        private func removeSystemVObjects(of supervision: Supervision) {
            for line in (supervision.scratch.read("ipc") ?? "").split(separator: "\n") {
                // ipcrm(1): `s 12` or `q 12`.
                let fields = line.split(separator: " ")
                guard fields.count == 2, ["s", "q"].contains(fields[0]) else { continue }
                _ = try? Program(["ipcrm", "-\(fields[0])", String(fields[1])]).end()
            }
        }

        private func cgroup(of entry: ZooEntry, in controller: String) -> String {
            "/sys/fs/cgroup/\(controller)/watchdogd-zoo-\(identity(entry))"
        }

        /// Thaws the freezer of version 1 once its process has been killed: until then, that process cannot die.
        private func thaw(_ entry: ZooEntry, _ supervision: Supervision) throws {
            let folder = cgroup(of: entry, in: "freezer")
            _ = try eventually {
                let processes = String(decoding: contents(of: folder + "/cgroup.procs") ?? [], as: UTF8.self)
                let isKilled = processes.split(separator: "\n").contains { isPending(SIGKILL, in: Int32($0) ?? 0) }
                return try isKilled || !supervision.program.lives(for: .milliseconds(20))
            }
            try? TestFiles.write(Array("THAWED".utf8), to: folder + "/freezer.state")
        }

        private func removeCgroups(of entry: ZooEntry) {
            for controller in ["cpu", "cpu,cpuacct", "freezer"] {
                let folder = cgroup(of: entry, in: controller)
                #expect(eventually { rmdir(folder) == 0 || errno == ENOENT }, "\(folder)")
            }
        }

        /// Removes the segment that a killed postmaster leaves, which prevents a second one from starting;
        /// postmaster.pid has its id in line 7.
        private func removeSharedMemory(of supervision: Supervision) {
            let lines = supervision.scratch.read("data/postmaster.pid")?.split(separator: "\n") ?? []
            guard lines.count >= 7, let id = lines[6].split(separator: " ").last.flatMap({ Int32($0) }) else { return }
            shmctl(id, IPC_RMID, nil)
        }

        private func mistakes(_ entry: ZooEntry, _ ending: Ending, _ load: Load) -> [Mistake] {
            guard let report = ending.reports.first, let linux = report.body.linux else {
                let reason = "no report; exit code \(ending.exitCode): \(ending.errors.suffix(3))"
                return Dimension.allCases.map { Mistake($0, reason) }
            }
            var mistakes: [Mistake] = []
            func note(_ dimension: Dimension, _ text: String) { mistakes.append(Mistake(dimension, text)) }
            let verdict = linux.verdict
            if verdict.kind != entry.verdict, !isExcused(entry, verdict) {
                note(.verdict, "verdict \(verdict.kind.rawValue), not \(entry.verdict.rawValue): \(verdict.line)")
            }
            // Java's launcher only waits for the thread that runs the program.
            if let call = entry.call, report.decidingStack?.systemCall?.name != call {
                note(.place, "call \(report.decidingStack?.systemCall?.name ?? "none"), not \(call)")
            }
            let frame = entry.frame ?? "hang_\(entry.kind)"
            // Without a CPU a thread does not stop either, and the report states that.
            let hasNoCPU = entry.verdict == .starved && gotNoCPU(report)
            // A computing thread is occasionally elsewhere for a moment, and the samples show its usual place.
            let sampled = entry.needsCPU ? linux.samples?.calls.map(\.function) ?? [] : []
            if !frame.isEmpty, !hasNoCPU, !(frames(of: report) + sampled).contains(where: { $0.hasPrefix(frame) }) {
                note(.frame, "no frame \(frame): \(frames(of: report)), \(howCaptured(report))")
            }
            if let finding = entry.finding, linux.findings?.contains(where: { $0.kind == finding }) != true {
                note(.place, "finding \(finding.rawValue) is missing: \(linux.findings?.map(\.kind.rawValue) ?? [])")
            }
            let whole = ([verdict.line] + (report.body.applicationSpecificInformation?["watchdogd"] ?? [])).joined(
                separator: "\n")
            if let line = entry.line, !whole.contains(line) { note(.place, "not said: \(line): \(verdict.line)") }
            if let absent = entry.absent, whole.contains(absent) { note(.place, "said: \(absent): \(whole)") }
            let others = linux.processes ?? []
            for member in entry.members where !others.contains(where: { member.isDescribed(by: $0) }) {
                note(.place, "no process \(member): \(others.map { ZooEntry.Member.describe($0) })")
            }
            if let own = entry.own, let explained = Explanation(of: report).calls.first?.function,
                !explained.hasPrefix(own)
            {
                note(.frame, "the app's call is \(explained), not \(own)")
            }
            let blame = Blame(for: report)
            // Beside others that compute, the app alone does not take the CPUs.
            let isShared = entry.verdict == .starved && load == .busy && blame.party == .machine
            let isSlowed = verdict.kind == .spinning && (verdict.waitingTenths ?? 0) > (verdict.runningTenths ?? 0)
            let party = isSlowed ? Blame.Party.appAndMachine : entry.party
            if blame.party != party, !isShared, !isExcused(entry, verdict) {
                note(.fault, "fault \(blame.party.rawValue), not \(party.rawValue): \(blame.reason)")
            }
            // Beside others that compute, a process may have less than half of a CPU.
            if let culprit = entry.culprit, !blame.reason.contains(culprit), !(entry.needsCPU && load == .busy) {
                note(.fault, "fault without \(culprit): \(blame.reason)")
            }
            return mistakes
        }

        /// If others took the CPU from a thread that also sleeps, that is the right verdict, and the report then names them.
        private func isExcused(_ entry: ZooEntry, _ verdict: Verdict) -> Bool {
            let isCrowded = (verdict.waitingTenths ?? 0) >= 50
            return switch entry.verdict {
            case .partlyRunning: isCrowded && [.busy, .starved].contains(verdict.kind)
            case .blocked: isCrowded && entry.needsCPU && verdict.kind == .partlyRunning
            default: false
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
