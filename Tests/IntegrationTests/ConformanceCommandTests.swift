// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd conformance")
    struct ConformanceCommandTests {
        private struct Answer: Decodable {
            struct Row: Decodable {
                var requirement: String
                var outcome: String
                var remark: String?
            }
            var conforms: Bool
            var requirements: [Row]

            func names(_ outcome: String) -> [String] {
                requirements.filter { $0.outcome == outcome }.map(\.requirement)
            }
        }

        /// Starts the command; a client is launched about sixteen times.
        private func start(_ command: [String], _ options: [String] = []) throws -> Program {
            try Program(
                [product("watchdogd"), "conformance", "--json", "--launch", "20s"] + options + ["--"] + command)
        }

        private func answer(of program: Program) throws -> (code: Int32?, answer: Answer) {
            let code = try program.end(within: patience * 2).code
            let output = program.text(.output)
            return (code, try JSONDecoder().decode(Answer.self, from: Data(output.utf8)))
        }

        @Test("the library conforms, with and without a lifecycle")
        func library() throws {
            let scratch = try Scratch()
            defer { withExtendedLifetime(scratch) {} }
            let programs = try [["BackgroundSaver", "--database", scratch["library"]], ["HealthyApp"]].map {
                try start([product($0[0])] + $0.dropFirst())
            }
            let lifecycle = try answer(of: programs[0])
            #expect(lifecycle.code == 0 && lifecycle.answer.conforms)
            #expect(lifecycle.answer.names("failed") == [] && lifecycle.answer.names("skipped") == [])
            let plain = try answer(of: programs[1])
            #expect(plain.code == 0 && plain.answer.names("failed") == [])
            #expect(
                plain.answer.names("skipped") == [
                    "background", "repeated-state", "foreground", "events", "busy", "expiration", "blocked-loop",
                ])
        }

        /// Faults of `Subjects/client.py`, and the requirements that they break; the first breaks none.
        private static let faults: [(fault: String, broken: [String])] = [
            ("none", []),
            ("hasty", ["hello"]),
            ("unready", ["ready"]),
            ("inheriting", ["inheritance"]),
            ("float", ["ping", "conduct"]),
            ("strict", ["unknown-keys", "garbage"]),
            ("last", ["first-assignment"]),
            ("lenient", ["garbage", "conduct"]),
            ("fragile", ["garbage"]),
            ("once", ["repeated-state"]),
            ("tireless", ["expiration"]),
            ("elsewhere", ["blocked-loop"]),
            ("stubborn", ["termination"]),
            ("spinning", ["closed-channel"]),
            ("abrupt", ["closed-channel"]),
            ("trusting", ["bad-environment"]),
            ("chatty", ["conduct"]),
        ]

        @Test("each fault of a client breaks its own requirement, and no other")
        func faults() throws {
            // The programs mostly wait, so several at a time take hardly longer than one.
            for part in stride(from: 0, to: Self.faults.count, by: 17) {
                let faults = Self.faults[part..<min(part + 17, Self.faults.count)]
                let programs = try faults.map {
                    try start(
                        ["/usr/bin/python3", "\(subjects)/client.py", $0.fault],
                        $0.fault == "unready" ? ["--launch", "3s"] : ["--terminate", "2s"])
                }
                for (fault, program) in zip(faults, programs) {
                    let (code, answer) = try answer(of: program)
                    #expect(
                        answer.names("failed") == fault.broken,
                        "\(fault.fault): \(answer.requirements.compactMap(\.remark))")
                    #expect(code == (fault.broken.isEmpty ? 0 : 1), "\(fault.fault)")
                }
            }
        }

        @Test("an excluded requirement does not fail; a misspelled one is rejected")
        func except() throws {
            let client = ["/usr/bin/python3", "\(subjects)/client.py", "inheriting"]
            let (code, answer) = try answer(of: start(client, ["--except", "inheritance", "--terminate", "2s"]))
            #expect(code == 0 && answer.names("failed") == [])
            #expect(answer.names("skipped").contains("inheritance"))
            #expect(try start(client, ["--except", "inheritence"]).end().code == 64)
        }

        @Test("each requirement is a test in JUnit and TAP, in the same order as in the JSON")
        func results() throws {
            let scratch = try Scratch()
            let (junit, tap) = (scratch["results.xml"], scratch["results.tap"])
            let (code, answer) = try answer(
                of: start(
                    ["/usr/bin/python3", "\(subjects)/client.py", "inheriting"],
                    ["--except", "flood", "--terminate", "2s", "--junit", junit, "--tap", tap]))
            #expect(code == 1 && answer.names("failed") == ["inheritance"])
            let checker = """
                import sys, xml.etree.ElementTree as tree
                suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
                print(*[suite.get(name) for name in ("tests", "failures", "errors", "skipped")])
                outcomes = {"failure": "failed", "skipped": "skipped"}
                for case in suite.findall("testcase"):
                    found = [(outcomes[child.tag], child.get("message")) for child in case] or [("passed", "")]
                    print(case.get("name").partition(":")[0], *found[0], sep="|")
                """
            let reader = try Program(["/usr/bin/python3", "-c", checker, junit])
            #expect(try reader.end().code == 0, "\(reader.text(.errors))")
            let rows = answer.requirements.map {
                "\($0.requirement)|\($0.outcome)|\($0.outcome == "passed" ? "" : $0.remark ?? "")"
            }
            let counts = "\(rows.count) 1 0 \(answer.names("skipped").count)"
            #expect(answer.names("skipped").contains("flood"))
            #expect(reader.text(.output).split(separator: "\n").map(String.init) == [counts] + rows)
            let lines = String(decoding: contents(of: tap) ?? [], as: UTF8.self).split(separator: "\n")
            #expect(lines.prefix(2) == ["TAP version 13", "1..\(rows.count)"])
            #expect(lines.count { $0.hasPrefix("ok ") } == rows.count - 1)
            #expect(lines.count { $0.hasPrefix("not ok 3 - inheritance: ") } == 1)
            #expect(lines.count { $0.contains(" # SKIP ") } == answer.names("skipped").count)
        }

        @Test("--tap - replaces the table; a file that cannot be written is reported before any launch")
        func outputs() throws {
            func conformance(_ options: [String], _ command: [String]) throws -> Program {
                try Program([product("watchdogd"), "conformance"] + options + ["--"] + command)
            }
            let ending = ["/bin/sh", "-c", "exit 7"]
            let tap = try conformance(["--tap", "-"], ending)
            #expect(try tap.end(within: patience * 2).code == 1)
            #expect(tap.text(.output).hasPrefix("TAP version 13\n1..23\nnot ok 1 - hello: says HELLO=1 first\n"))
            let nowhere = try conformance(["--junit", "/nonexistent/results.xml"], ["/bin/sleep", "1000"])
            #expect(try nowhere.end().code == 73)
            #expect(nowhere.text(.errors).contains("--junit /nonexistent/results.xml: cannot open "))
            let both = try conformance(["--json", "--tap", "-"], ending)
            #expect(try both.end().code == 64)
            #expect(both.text(.errors).contains("give --tap a file"))
        }

        @Test("a program that sends nothing fails, and requirements without a channel are tested anyway")
        func mute() throws {
            let (code, answer) = try answer(of: start(["/bin/sleep", "1000"], ["--launch", "300ms"]))
            #expect(code == 1)
            #expect(answer.names("failed") == ["hello"])
            #expect(answer.names("passed") == ["silence", "bad-environment", "conduct"])
        }

        @Test("a program that exits immediately is reported with its code")
        func ends() throws {
            let (code, answer) = try answer(of: start(["/bin/sh", "-c", "exit 7"]))
            #expect(code == 1)
            #expect(answer.requirements.first?.remark == "it ended: exited with code 7")
        }

        @Test("a program that does not exist, or none at all, is an error")
        func errors() throws {
            let missing = try start(["/nonexistent/program"])
            #expect(try missing.end().code == 66)
            #expect(missing.text(.errors).contains("/nonexistent/program"))
            let none = try Program([product("watchdogd"), "conformance"])
            #expect(try none.end().code == 64)
            #expect(none.text(.errors).contains("a program is missing"))
        }

        @Test("an interruption leaves no process of the program behind")
        func interrupted() throws {
            let program = try start(["/bin/sh", "-c", "sleep 1000 & wait"])
            let mark = "WATCHDOGD_CONFORMANCE=\(program.process.pid)-1"
            #expect(eventually { Leftovers.processes(marked: mark).count == 2 })
            try program.send(SIGINT)
            #expect(try program.end().code == 130)
            #expect(Leftovers.processes(marked: mark) == [])
        }
    }
}
