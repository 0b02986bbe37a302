// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

private let hooks =
    subjects.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/packaging/hooks"

private let canPost: Bool = {
    let isThere = isInstalled("curl") && isInstalled("jq")
    if !isThere { print("skipped: the hooks that post need curl and jq (scripts/setup test)") }
    return isThere
}()

extension EndToEnd {
    /// The commands in packaging/hooks, run for real incidents; their messages stay on this machine.
    @Suite("Packaged incident hooks")
    struct PackagedHookTests {
        private struct Request: Decodable {
            let path: String
            let type: String
            let body: String
        }

        private struct Posted: Decodable {
            let host, app, event, code, verdict, fault, incident, signature, report: String
            let dropped: Int
        }

        private struct Alert: Decodable {
            let labels: [String: String]
            let annotations: [String: String]
        }

        private static let hanging = [product("HangMain"), "--how", "semaphore"]
        private static let crashing = ["/bin/sh", "-c", "kill -SEGV $$"]

        private let scratch: Scratch

        init() throws {
            scratch = try Scratch()
            // The PATH of an installed watchdogd and a mail server.
            let bin = try scratch.makeDirectory("bin")
            try #require(symlink(product("watchdogd"), "\(bin)/watchdogd") == 0)
            try scratch.write(
                """
                #!/bin/sh
                printf '%s\\n' "$@" >arguments
                cat >mail

                """, to: "bin/sendmail", mode: 0o755)
        }

        /// Runs a program named Feed until its incident, and the command for it; returns watchdogd's messages.
        private func run(
            _ command: [String], hook: String, reports: String = "reports", more: [String] = []
        ) throws -> String {
            var environment = testEnvironment()
            environment["PATH"] = "\(scratch["bin"]):\(searchPath)"
            // curl(1): no proxy for the receiver.
            environment["no_proxy"] = "127.0.0.1"
            let program = try Program(
                [
                    product("watchdogd"), "run", "--name", "Feed", "--reports", reports, "--update", "1s",
                    "--on-incident", "\(hooks)/\(hook)",
                ] + more + ["--"] + command, environment: environment, directory: scratch.path)
            let status = try program.end()
            try #require(status.code ?? 0 > 128, "\(status): \(program.text(.errors))")
            return program.text(.errors)
        }

        /// The only report; its path is the hook's.
        private func storedReport() throws -> (path: String, text: String) {
            let name = try #require(names(in: scratch["reports"]).first { $0.hasSuffix(".ips") })
            return ("reports/\(name)", try #require(scratch.read("reports/\(name)")))
        }

        private func startReceiver(answering code: Int) throws -> (program: Program, port: String) {
            let program = try Program(["/usr/bin/python3", "\(subjects)/receiver.py", "\(code)"])
            return (program, try program.line())
        }

        private func decode<T: Decodable>(_ type: T.Type, _ text: String) throws -> T {
            try JSONDecoder().decode(type, from: Data(text.utf8))
        }

        // MARK: - Mail

        @Test("mail gives sendmail the address, a subject, the verdict and the explained crash log")
        func mail() throws {
            let errors = try run(Self.hanging, hook: "mail admin@localhost")
            #expect(!errors.contains("--on-incident) failed"), "\(errors)")
            #expect(scratch.read("arguments") == "-oi\n--\nadmin@localhost\n")
            let mail = try #require(scratch.read("mail"))
            let (head, body) = try parts(of: mail)
            #expect(
                head == [
                    "To: admin@localhost", "Subject: watchdogd: Feed: did not answer (0x8badf00d)", "MIME-Version: 1.0",
                    "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit",
                ])
            let report = try storedReport()
            #expect(body.hasPrefix("Main thread "))
            #expect(body.contains("\nFault: app\nReport: \(report.path)\n"))
            #expect(!body.contains("Further incidents"))
            // From the crash log: the calls that led there, and its incident.
            #expect(body.contains("waitForDownload()"))
            let incident = try #require(body.firstMatch(of: #/incident ([0-9A-F-]{36})/#)).output.1
            #expect(report.text.contains(incident))
        }

        @Test("mail reports a crash that has no file")
        func mailWithoutReport() throws {
            let errors = try run(Self.crashing, hook: "mail admin@localhost", reports: "none")
            #expect(!errors.contains("--on-incident) failed"), "\(errors)")
            let (head, body) = try parts(of: try #require(scratch.read("mail")))
            #expect(head.contains("Subject: watchdogd: Feed: crash (SIGSEGV)"))
            #expect(body == "Crashed: SIGSEGV\nFault: app\nReport: none\n")
        }

        private func parts(of mail: String) throws -> (head: [String], body: String) {
            let blank = try #require(mail.firstRange(of: "\n\n"))
            return (
                mail[..<blank.lowerBound].split(separator: "\n").map(String.init), String(mail[blank.upperBound...])
            )
        }

        // MARK: - Requests

        @Test("webhook posts the incident as one JSON object", .enabled(if: canPost, "needs curl and jq"))
        func webhook() throws {
            let (receiver, port) = try startReceiver(answering: 204)
            let errors = try run(Self.hanging, hook: "webhook http://127.0.0.1:\(port)/in?team=feed")
            #expect(!errors.contains("--on-incident) failed"), "\(errors)")
            let request = try decode(Request.self, try receiver.line())
            #expect(request.path == "/in?team=feed")
            #expect(request.type == "application/json")
            let posted = try decode(Posted.self, request.body)
            let report = try storedReport()
            #expect(posted.app == "Feed")
            #expect(posted.event == "scene-update")
            #expect(posted.code == "0x8badf00d")
            #expect(posted.fault == "app")
            #expect(posted.report == report.path)
            #expect(posted.dropped == 0)
            #expect(!posted.host.isEmpty)
            #expect(posted.verdict.hasPrefix("Main thread "))
            // The message has one line for the stuck party, and one for the kernel's view.
            #expect(posted.verdict.split(separator: " · ").allSatisfy { errors.contains($0) }, "\(errors)")
            #expect(posted.signature.wholeMatch(of: #/[0-9a-f]{8}/#) != nil)
            #expect(posted.incident.wholeMatch(of: #/[0-9A-F-]{36}/#) != nil && report.text.contains(posted.incident))
        }

        @Test(
            "A crash raises one alert, whose labels state its cause", .enabled(if: canPost, "needs curl and jq"),
            arguments: ["", "/"])
        func alertmanager(_ end: String) throws {
            let (receiver, port) = try startReceiver(answering: 200)
            let errors = try run(Self.crashing, hook: "alertmanager http://127.0.0.1:\(port)/am\(end)")
            #expect(!errors.contains("--on-incident) failed"), "\(errors)")
            let request = try decode(Request.self, try receiver.line())
            #expect(request.path == "/am/api/v2/alerts")
            #expect(request.type == "application/json")
            let alerts = try decode([Alert].self, request.body)
            let alert = try #require(alerts.first)
            #expect(alerts.count == 1)
            var labels = alert.labels
            #expect(labels.removeValue(forKey: "instance")?.isEmpty == false)
            #expect(labels.removeValue(forKey: "signature")?.wholeMatch(of: #/[0-9a-f]{8}/#) != nil)
            #expect(
                labels == [
                    "alertname": "WatchdogdIncident", "app": "Feed", "event": "crash", "code": "SIGSEGV",
                    "fault": "app",
                ])
            let report = try storedReport()
            #expect(alert.annotations["summary"] == "Feed: Crashed: SIGSEGV")
            #expect(alert.annotations["report"] == report.path)
            #expect(report.text.contains(try #require(alert.annotations["incident"])))
        }

        @Test(
            "A server that rejects the message makes the hook fail, which watchdogd reports",
            .enabled(if: canPost, "needs curl and jq"),
            arguments: ["webhook", "alertmanager"])
        func refused(_ hook: String) throws {
            let (receiver, port) = try startReceiver(answering: 500)
            let errors = try run(Self.crashing, hook: "\(hook) http://127.0.0.1:\(port)")
            try receiver.line("\"body\"")
            // curl(1): 22 for a status of 400 and above, with --fail.
            #expect(errors.contains("OnIncident= (run: --on-incident) failed: exit code 22\n"), "\(errors)")
        }

        @Test(
            "Without its argument, a hook fails with 64 and sends nothing",
            arguments: ["mail", "webhook", "alertmanager"])
        func noArgument(_ hook: String) throws {
            let errors = try run(Self.crashing, hook: hook)
            #expect(errors.contains("OnIncident= (run: --on-incident) failed: exit code 64\n"), "\(errors)")
            #expect(!scratch.exists("mail"))
        }
    }
}
