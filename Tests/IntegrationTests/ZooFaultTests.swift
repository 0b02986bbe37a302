// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

/// An injected fault, a program that does nothing wrong without it, and what must come of both.
struct ZooFault: Sendable, CustomStringConvertible {
    enum Outcome: Sendable {
        /// The program is killed for its main loop: the verdict, the call, a function on the stack, and who is at fault.
        case kill(Verdict.Kind, call: String?, frame: String, Blame.Party)
        /// The program ends by itself, with an exit code other than 0 or by a signal, and nobody calls it hung.
        case failure
        /// No allowance is exhausted.
        case nothing
    }

    /// As for `--fault`; `{}` stands for what the deed works on.
    let fault: String
    /// A harmless fault with which the deed is over at once; nil for none at all.
    var control: String?
    /// A function of `Subjects/zoo_faults.py`; nil for the sample app HealthyApp.
    var deed: String?
    let outcome: Outcome

    var description: String { fault }
    /// The name of the fault, as in the table of docs/faults.md.
    var name: String { String(fault.prefix { $0 != " " }) }

    static let all: [ZooFault] = [
        ZooFault(fault: "stop 1500ms at ready+200ms", outcome: .nothing),
        ZooFault(
            fault: "main-hang 600s at ready+200ms",
            outcome: .kill(.blocked, call: "clock_nanosleep", frame: "HangOnDemand.block(for:)", .app)),
        ZooFault(fault: "cpu 4", deed: "do_nothing", outcome: .nothing),
        ZooFault(
            fault: "cpu-quota 5%", deed: "add_numbers",
            outcome: .kill(.throttled, call: nil, frame: "add_numbers", .machine)),
        ZooFault(fault: "memory 128M", deed: "cache_pictures", outcome: .failure),
        ZooFault(
            fault: "io-slow 64K", deed: "read_archive",
            outcome: .kill(.uninterruptible, call: "readv", frame: "read_archive", .machine)),
        ZooFault(
            fault: "disk-full {} at ready+300ms", control: "disk-full {} at +1h", deed: "save_draft",
            outcome: .kill(.blocked, call: "clock_nanosleep", frame: "save_draft", .app)),
        ZooFault(
            fault: "network cut 600s at ready+500ms", control: "network dns-delay 1ms", deed: "load_page",
            outcome: .kill(.blocked, call: nil, frame: "load_page", .app)),
        ZooFault(
            fault: "network loss 100% at ready+500ms", control: "network dns-delay 1ms", deed: "load_page",
            outcome: .kill(.blocked, call: nil, frame: "load_page", .app)),
        ZooFault(
            fault: "network dns-delay 600s at ready+500ms", deed: "look_up",
            outcome: .kill(.blocked, call: "poll", frame: "look_up", .app)),
        ZooFault(fault: "clock +50d", deed: "do_nothing", outcome: .nothing),
        ZooFault(fault: "kill-watchdogd at ready", deed: "do_nothing", outcome: .nothing),
    ]
}

extension EndToEnd {
    @Suite("The zoo of faults")
    struct ZooFaultTests {
        private static let python = "/usr/bin/python3"

        @Test("Every documented fault has its verdict")
        func complete() throws {
            let text = try #require(contents(of: "\(subjects)/../../../docs/faults.md"))
            let documented = String(decoding: text, as: UTF8.self).split(separator: "\n")
                .compactMap { $0.firstMatch(of: #/^\| `(?<name>[a-z-]+)/#).map { String($0.name) } }
            #expect(Set(documented) == Set(ZooFault.all.map(\.name)))
        }

        @Test("A fault leads to its verdict, and without it the same program is in order", arguments: ZooFault.all)
        func verdict(row: ZooFault) throws {
            let scratch = try Scratch()
            let server = try row.deed == "load_page" ? Program(Self.serving) : nil
            defer { withExtendedLifetime(server) {} }
            let archive = try row.deed == "read_archive" ? makeArchive() : nil
            defer { if let archive { unlink(archive) } }
            let subject: String? =
                switch row.deed {
                case "read_archive": archive
                case "save_draft": try scratch.makeDirectory("disk")
                // The machine's loopback, as the link shows it.
                case "load_page": "10.0.2.2:\(try #require(server).line())"
                case "look_up": "nonexistent.invalid"
                case "cache_pictures": "200000000"
                default: nil
                }
            let script = row.deed.map { [Self.python, "\(subjects)/zoo_faults.py", $0] } ?? [product("HealthyApp")]
            let command = script + (subject.map { [$0] } ?? [])
            let fault = row.fault.replacing("{}", with: subject ?? "")
            if row.name == "kill-watchdogd" { return try expectNobodyJudges(fault, command) }

            let ending = try supervise(
                ["--update", "700ms", "--ping", "100ms", "--for", "20s", "--fault", fault] + quiet(row), command)
            if let reason = skipped(ending) {
                print("zoo: --fault '\(fault)' skipped: \(reason)")
                return
            }
            try expect(row, ending)
            #expect(ending.summary?.faults?.first?.failure == nil, "\(ending.errors)")

            guard case .nothing = row.outcome else {
                let control = row.control.map { ["--fault", $0.replacing("{}", with: subject ?? "")] } ?? []
                let usual = try supervise(["--update", "60s", "--ping", "100ms", "--for", "1s"] + control, command)
                #expect(usual.summary?.incidents.isEmpty == true, "\(usual.errors)")
                #expect(usual.summary?.termination == "terminated", "\(usual.errors)")
                return
            }
        }

        /// A run without an incident need not last long, and its allowance leaves room for a busy machine.
        private func quiet(_ row: ZooFault) -> [String] {
            guard case .nothing = row.outcome else { return [] }
            // The last one of an option counts: stop lasts longer than the usual allowance of this test.
            return ["--for", "2500ms"] + (row.name == "stop" ? [] : ["--update", "60s"])
        }

        private func expect(_ row: ZooFault, _ ending: Ending) throws {
            switch row.outcome {
            case .nothing:
                #expect(ending.summary?.incidents.isEmpty == true, "\(ending.errors)")
                #expect(ending.summary?.termination == "terminated", "\(ending.errors)")
                #expect(ending.reports.isEmpty)
            case .failure:
                #expect(ending.summary?.termination == "exited", "\(ending.errors)")
                #expect(ending.summary?.incidents.isEmpty == true, "\(ending.errors)")
                #expect(ending.exitCode != 0)
            case .kill(let verdict, let call, let frame, let party):
                let report = try #require(ending.reports.first, "\(ending.errors)")
                let linux = try #require(report.body.linux)
                #expect(linux.verdict.kind == verdict, "\(linux.verdict.line)")
                if let call { #expect(report.decidingStack?.systemCall?.name == call, "\(linux.verdict.line)") }
                let frames = report.decidingStack?.calls.compactMap(\.function) ?? []
                #expect(frames.contains { $0.contains(frame) }, "\(frames)")
                #expect(Blame(for: report).party == party, "\(Blame(for: report).reason)")
                let information = report.body.applicationSpecificInformation?["watchdogd"] ?? []
                #expect(information.contains { $0.hasPrefix("Fault: \(row.name)") }, "\(information)")
            }
        }

        /// Why this machine or user cannot inject the fault; nil if it was injected.
        private func skipped(_ ending: Ending) -> String? {
            if ending.exitCode == 69 { return ending.errors.last }
            guard ending.exitCode == 3 else { return nil }
            return ending.output.split(separator: "\n").last { $0.hasPrefix("skip: ") }.map(String.init)
        }

        /// watchdogd is gone, no report exists, and the app sees the end of its channel.
        private func expectNobodyJudges(_ fault: String, _ command: [String]) throws {
            let scratch = try Scratch()
            let program = try Program(
                [product("watchdogd"), "run", "--reports", scratch["reports"], "--fault", fault]
                    + ["--env", "ZOO_ENDED=\(scratch["ended"])", "--"] + command)
            #expect(try program.end() == .signaled(signal: SIGKILL, coreDumped: false))
            #expect(eventually { scratch.exists("ended") })
            #expect(names(in: scratch["reports"]) == [])
        }

        /// A file on a disk, which /tmp need not be on.
        private func makeArchive() throws -> String {
            let folder = hasAllRights ? FileManager.default.currentDirectoryPath + "/.build" : "/tmp"
            let path = "\(folder)/zoo-fault-\(getpid())"
            let bytes = [UInt8](repeating: 7, count: 4 << 20)
            try TestFiles.write(bytes, to: path)
            sync()
            return path
        }

        private static let serving = [
            python, "-u", "-c",
            """
            import http.server
            class Page(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(b"x" * 20000)
                def log_message(self, *_): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Page)
            print(server.server_port)
            server.serve_forever()
            """,
        ]
    }
}
