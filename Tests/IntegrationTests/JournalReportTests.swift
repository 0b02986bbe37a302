// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    /// Journal files of two hosts, as systemd-journal-remote writes them from the input of systemd-journal-upload.
    @Suite("Crash logs of many hosts")
    struct JournalReportTests {
        private static let remote = "/usr/lib/systemd/systemd-journal-remote"

        private static let canRun: Bool = {
            let isPossible = access(remote, X_OK) == 0
            if !isPossible { print("skipped: journal files of other hosts need systemd-journal-remote") }
            return isPossible
        }()

        /// An entry's host, and its differences from a report's fields.
        private struct Entry {
            var number: Int
            var host: String
            var changes: [String: String] = [:]
        }

        private struct Answer {
            let code: Int32?
            let output: String
            let errors: String
            var lines: [Substring] { output.split(separator: "\n") }
        }

        private func watchdogd(
            _ arguments: [String], at folder: String, environment: Environment = testEnvironment()
        ) throws -> Answer {
            let program = try Program(
                [product("watchdogd"), "report"] + arguments + ["--journal=\(folder)"], environment: environment)
            let code = try program.end().code
            return Answer(code: code, output: program.text(.output), errors: program.text(.errors))
        }

        private func report(_ number: Int) -> Report {
            let cause = Causes.all[number % Causes.all.count].report
            var report = cause
            let digits = String(number)
            let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
            report.metadata.incidentID = "ABCD\(number % 10)" + id.dropFirst(5)
            report.body.incident = report.metadata.incidentID
            report.metadata.appVersion = "1.\(number)"
            return report
        }

        /// An entry in journald's export format: systemd.io/JOURNAL_EXPORT_FORMATS.
        private func export(_ entry: Entry) throws -> [UInt8] {
            let report = report(entry.number)
            let machine = String(repeating: entry.host == "alpha" ? "a" : "b", count: 32)
            let time = 1_790_000_000_000_000 + entry.number * 1_000_000
            var fields = [
                "__REALTIME_TIMESTAMP": "\(time)", "__MONOTONIC_TIMESTAMP": "\(entry.number * 1_000_000 + 1)",
                "_BOOT_ID": machine, "_MACHINE_ID": machine, "_HOSTNAME": entry.host, "_UID": "0",
                "_COMM": "watchdogd", "_EXE": "/usr/bin/watchdogd", "_TRANSPORT": "journal", "MESSAGE": "killed",
                "MESSAGE_ID": "625be8b805824436a7005458c4889c7e", "WATCHDOGD_KIND": "killed",
                "WATCHDOGD_APP": report.metadata.appName, "WATCHDOGD_APP_VERSION": "1.\(entry.number)",
                "WATCHDOGD_PID": "42", "WATCHDOGD_EVENT": report.metadata.linux?.event ?? "",
                "WATCHDOGD_VERDICT": report.body.linux?.verdict.line ?? "",
                "WATCHDOGD_INCIDENT": report.metadata.incidentID, "WATCHDOGD_SIGNATURE": "\(entry.number)",
                "WATCHDOGD_REPORT": "/var/log/watchdogd/reports/x.ips",
                "WATCHDOGD_REPORT_DATA": String(decoding: try ReportCoding.encode(report), as: UTF8.self),
            ]
            fields.merge(entry.changes) { $1 }
            var bytes: [UInt8] = []
            // The receiver expects the address of an entry first.
            for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
                guard value.contains("\n") || value.utf8.count > 60_000 else {
                    bytes += Array("\(name)=\(value)\n".utf8)
                    continue
                }
                bytes += Array("\(name)\n".utf8)
                withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes += Array($0) }
                bytes += Array("\(value)\n".utf8)
            }
            return bytes + [UInt8(ascii: "\n")]
        }

        /// Writes one file for each host.
        private func write(_ entries: [Entry], to scratch: Scratch) throws -> String {
            let folder = try scratch.makeDirectory("remote")
            for host in Set(entries.map(\.host)) {
                let bytes = try entries.filter { $0.host == host }.flatMap(export)
                let file = scratch["\(host).export"]
                try #require(put(bytes, to: file))
                let program = try Program(
                    [Self.remote, "--split-mode=none", "--output=\(folder)/remote-\(host).journal", file])
                try #require(try program.end().code == 0, "\(program.text(.errors))")
            }
            return folder
        }

        private func put(_ bytes: [UInt8], to path: String) -> Bool {
            guard let file = fopen(path, "w") else { return false }
            defer { fclose(file) }
            return fwrite(bytes, 1, bytes.count, file) == bytes.count
        }

        private static let two = [
            Entry(number: 1, host: "alpha"), Entry(number: 2, host: "beta"), Entry(number: 3, host: "alpha"),
            Entry(number: 4, host: "beta"),
        ]

        @Test("list merges two hosts' crash logs; the other subcommands read them", .enabled(if: canRun))
        func twoHosts() throws {
            let scratch = try Scratch()
            let folder = try write(Self.two, to: scratch)
            let list = try watchdogd(["list"], at: folder)
            #expect(list.code == 0 && list.errors == "", "\(list.errors)")
            #expect(list.lines.count == 5)
            #expect(list.lines.first?.contains("  HOST ") == true && list.lines.first?.contains("  VERSION ") == true)
            #expect(list.output.contains("  alpha  ") && list.output.contains("  beta   "), "\(list.output)")
            #expect(list.lines.allSatisfy { !$0.contains("...") }, "without a terminal, nothing is cut")
            let beta = try watchdogd(["list", "--host", "beta", "--limit", "1"], at: folder)
            #expect(beta.lines.count == 2 && beta.lines.last?.hasPrefix("ABCD4000") == true, "\(beta.output)")

            let whole = try ReportCoding.encode(report(3))
            let export = try watchdogd(["export", "--format", "ips", report(3).metadata.incidentID], at: folder)
            #expect(Array(export.output.utf8) == whole)
            for command in [["show", "ABCD3"], ["explain", "abcd3000"], ["diff", "ABCD1", "ABCD2"]] {
                let answer = try watchdogd(command, at: folder)
                #expect(answer.code == 0 && !answer.output.isEmpty, "\(command): \(answer.errors)")
            }
            #expect(try watchdogd(["show", "ABCD3"], at: folder).output.contains(report(3).metadata.incidentID))
            let group = try watchdogd(["group", "--json"], at: folder)
            #expect(group.code == 0 && group.output.contains("\"count\" : 1"))
            let missing = try watchdogd(["show", "FFFF"], at: folder)
            #expect(missing.code == 66)
            let inPlace = try watchdogd(["symbolicate", "--in-place", "ABCD3"], at: folder)
            #expect(inPlace.code == 64 && inPlace.errors.contains("cannot replace a crash log in the journal"))
            let lines = try watchdogd(["export", "--format", "ndjson"], at: folder)
            #expect(lines.lines.count == 4)
            #expect(lines.output.contains("\"host\":\"alpha\"") && lines.output.contains("\"version\":\"1.4\""))
        }

        @Test("open shows the page of a crash log, and writes none if the log is missing", .enabled(if: canRun))
        func open() throws {
            let scratch = try Scratch()
            let folder = try write(Self.two, to: scratch)
            let pages = try scratch.makeDirectory("pages")
            try scratch.write("#!/bin/sh\necho \"$1\" >\(scratch["opened"])\n", to: "xdg-open", mode: 0o755)
            var environment = testEnvironment()
            environment["TMPDIR"] = pages
            environment["DISPLAY"] = ":7"
            environment["PATH"] = "\(scratch.path):\(environment["PATH"] ?? "")"
            let missing = try watchdogd(["open", "FFFF"], at: folder, environment: environment)
            #expect(missing.code == 66 && missing.output.isEmpty)
            #expect(names(in: pages).isEmpty && !scratch.exists("opened"))
            let answer = try watchdogd(["open", "ABCD3"], at: folder, environment: environment)
            #expect(answer.code == 0 && answer.errors == "", "\(answer.errors)")
            let path = try #require(answer.lines.first.map(String.init))
            #expect(answer.lines.count == 1 && path.hasPrefix("\(pages)/watchdogd-report-") && path.hasSuffix(".html"))
            let page = try #require(contents(of: path).map { String(decoding: $0, as: UTF8.self) })
            #expect(page.hasPrefix("<!DOCTYPE html>") && page.contains(report(3).metadata.incidentID))
            #expect(!page.contains(report(1).metadata.incidentID))
            #expect(scratch.read("opened") == path + "\n")
        }

        @Test(
            "forgeries, other users, and damaged fields and files are reported; the rest is read", .enabled(if: canRun))
        func strangers() throws {
            let scratch = try Scratch()
            let folder = try write(
                Self.two + [
                    Entry(number: 5, host: "alpha", changes: ["_EXE": "/usr/bin/logger"]),
                    Entry(number: 6, host: "beta", changes: ["_EXE": "/usr/bin/python3", "_COMM": "watchdogd"]),
                    Entry(number: 7, host: "beta", changes: ["_UID": "4294900000"]),
                    Entry(number: 8, host: "beta", changes: ["WATCHDOGD_REPORT_DATA": "{\"app_name\":\u{1b}[2J\nno"]),
                ], to: scratch)
            try #require(truncate(at: "\(folder)/remote-alpha.journal", copyingTo: "\(folder)/remote-gamma.journal"))
            let list = try watchdogd(["list"], at: folder)
            #expect(list.code == 0)
            #expect(list.lines.count == 6, "\(list.output)")
            #expect(list.lines.contains { $0.contains("damaged") })
            #expect(list.errors.contains("2 entries imitate watchdogd's and were ignored"))
            #expect(list.errors.contains("1 entry of another user's watchdogd was left out; --all-users includes it"))
            #expect(list.errors.contains("cannot read the journal entry of "))
            #expect(list.errors.contains("remote-gamma.journal: it is damaged, or not a journal file"))
            #expect(list.errors.split(separator: "\n").count == 4, "\(list.errors)")
            #expect(!list.errors.contains("\u{1b}") && !list.output.contains("\u{1b}"))
            let all = try watchdogd(["list", "--all-users"], at: folder)
            #expect(all.lines.count == 7 && all.output.contains("  4294900000  "), "\(all.output)")
        }

        private func truncate(at path: String, copyingTo copy: String) -> Bool {
            guard let bytes = contents(of: path) else { return false }
            return put(Array(bytes.prefix(bytes.count / 3)), to: copy)
        }

        @Test("a file that is damaged inside is reported, and other hosts' files are read", .enabled(if: canRun))
        func damagedFile() throws {
            let scratch = try Scratch()
            let folder = try write(
                (10..<40).map { Entry(number: $0, host: "alpha") } + [Entry(number: 50, host: "beta")], to: scratch)
            let path = "\(folder)/remote-alpha.journal"
            var bytes = try #require(contents(of: path))
            // The objects follow the header and its hash tables; the rest of the file is still empty.
            let used = try #require(bytes.lastIndex { $0 != 0 })
            let begin = used / 4 * 3
            for index in begin..<used { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
            try #require(put(bytes, to: path))
            let list = try watchdogd(["list"], at: folder)
            #expect(list.code == 0)
            #expect(list.output.contains("  beta "), "\(list.output)\(list.errors)")
            #expect(list.errors.contains("damaged"), "\(list.output)\(list.errors)")
        }

        @Test("a folder without journal files, a missing one and another file are reported")
        func absent() throws {
            let scratch = try Scratch()
            let empty = try watchdogd(["list"], at: try scratch.makeDirectory("empty"))
            #expect(empty.code == 66 && empty.errors.contains("it holds no journal file"))
            let missing = try watchdogd(["list"], at: scratch["missing"])
            #expect(missing.code == 66 && missing.errors.contains("no such file or folder"))
            let other = try watchdogd(["list"], at: try scratch.write("no journal", to: "x.journal"))
            #expect(other.code == 65 && other.errors.contains("it is damaged, or not a journal file"))
        }
    }
}
