// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd reload APP")
    struct ServeAppReloadTests {
        private static let hangup = "ExecReload=/bin/kill -HUP $MAINPID"

        /// A daemon whose app shows the content of its own configuration file as its status.
        ///
        /// - Parameter reload: nil for a command that exits when the app has announced its reload. The announcement may
        ///   be late, because the time for it after the last command is short.
        private func service(_ options: String = "", reload: String? = nil, more: String = "") throws -> Service {
            let scratch = try Scratch()
            let announced = scratch["own.announced"]
            let reload =
                reload ?? "ExecReload=/bin/sh -c 'rm -f \(announced); kill -HUP $MAINPID; "
                + "until test -e \(announced); do sleep 0.02; done'"
            try scratch.write("one", to: "own")
            return try Service(
                [
                    "app": """
                    [App]
                    ExecStart=/usr/bin/python3 \(quoted("\(subjects)/reloading_app.py")) \(scratch["own"]) \(options)
                    \(reload)
                    [Watchdog]
                    Readiness=notify
                    \(more)
                    """
                ], scratch: scratch)
        }

        private func status(_ service: Service) throws -> String? {
            try service.client.describe(DescribeRequest("app")).details?.status
        }

        @Test("An app that sends RELOADING=1 has reloaded when the command ends")
        func confirmed() throws {
            let service = try service("slow=0.4")
            let pid = try service.wait(for: "app") { $0.state == .running }.pid
            #expect(try status(service) == "one")
            try service.scratch.write("two", to: "own")
            let answer = try service.command("reload", "app")
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.output.hasPrefix("app reloaded within "))
            #expect(try status(service) == "two")
            #expect(try service.app("app").pid == pid)
            let json = try service.command("reload", "--json", "app").output
            #expect(json.contains("\"isConfirmed\":true") && json.contains("\"app\":\"app\""), "\(json)")
            #expect(try service.end() == 0)
        }

        @Test("An app that sends nothing has reloaded when its commands have exited")
        func unconfirmed() throws {
            let service = try service("silent", reload: Self.hangup)
            try service.wait(for: "app") { $0.state == .running }
            try service.scratch.write("two", to: "own")
            #expect(try service.command("reload", "--json", "app").output.contains("\"isConfirmed\":false"))
            #expect(try eventually { try status(service) == "two" })
            #expect(try service.command("reload", "--no-wait", "app").output == "")
            #expect(try service.end() == 0)
        }

        @Test("Commands run as the app, one after the other, and the first failure is reported with its exit code")
        func commands() throws {
            let scratch = try Scratch()
            let log = scratch["log"]
            let service = try Service(
                [
                    "app": """
                    [App]
                    ExecStart=/bin/sleep 1000
                    Environment=GREETING=hello
                    WorkingDirectory=\(scratch.path)
                    StandardOutput=truncate:\(log)
                    ExecReload=/bin/sh -c 'echo $GREETING $MAINPID; pwd; cat /proc/self/cgroup | sed s,.*/,,'
                    ExecReload=-/bin/false
                    ExecReload=/bin/sh -c 'echo third; exit 7'
                    ExecReload=/bin/sh -c 'echo fourth'
                    [Watchdog]
                    Readiness=none
                    """
                ], scratch: scratch)
            let pid = try #require(try service.wait(for: "app") { $0.state == .running }.pid)
            let answer = try service.command("reload", "app")
            #expect(answer.code == 1)
            #expect(
                answer.errors
                    == "watchdogd: app was not reloaded: ExecReload: /bin/sh exited with code 7\n")
            let lines = String(decoding: try #require(contents(of: log)), as: UTF8.self).split(separator: "\n")
            #expect(lines.first == "hello \(pid)")
            #expect(lines.dropFirst().first.map(String.init) == scratch.path)
            #expect(lines.last == "third")
            if Leftovers.cgroup(ofSupervisor: service.program.pid) != nil {
                #expect(lines.contains("reload"), "below the app's cgroup: \(lines)")
            }
            #expect(try service.app("app").pid == pid)
            #expect(try service.end() == 0)
            #expect(service.program.text(.errors).contains("app could not be reloaded: ExecReload: /bin/sh exited"))
        }

        @Test("A command that does not exit is killed at the deadline with its children")
        func stuckCommand() throws {
            let service = try service(
                "silent", reload: "ExecReload=/bin/sh -c 'setsid sleep 1234 & sleep 1235'", more: "Reload=300ms")
            let pid = try service.wait(for: "app") { $0.state == .running }.pid
            let answer = try service.command("reload", "app")
            #expect(answer.code == 1)
            #expect(answer.errors.contains("ExecReload: /bin/sh did not end within 300 ms, and was killed"))
            if Leftovers.cgroup(ofSupervisor: service.program.pid) != nil {
                #expect(eventually { service.processes == [pid].compactMap(\.self) })
            }
            #expect(try service.app("app").state == .running)
            #expect(try service.app("app").pid == pid)
            // It can be reloaded again.
            #expect(try service.command("reload", "app").code == 1)
            #expect(try service.end() == 0)
        }

        @Test("An app that begins to reload and does not become ready is reported, and keeps running")
        func stuckApp() throws {
            let service = try service("stuck", more: "Reload=3s")
            let pid = try service.wait(for: "app") { $0.state == .running }.pid
            let answer = try service.command("reload", "app")
            #expect(answer.code == 1)
            #expect(
                answer.errors.contains("it did not send READY=1 within 3 s after RELOADING=1"), "\(answer.errors)")
            #expect(try service.app("app").pid == pid)
            #expect(try service.end() == 0)
        }

        @Test("An app that shows progress while it reloads gets the time that it requests, and no more")
        func extended() throws {
            let service = try service("extend=60 slow=3.5", more: "Reload=3s")
            try service.wait(for: "app") { $0.state == .running }
            try service.scratch.write("two", to: "own")
            let answer = try service.command("reload", "app")
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(try status(service) == "two")
            #expect(try service.end() == 0)

            let stuck = try self.service("extend=60 stuck", more: "Reload=3s\nExtensionCap=3500ms")
            try stuck.wait(for: "app") { $0.state == .running }
            let refusal = try stuck.command("reload", "app")
            #expect(refusal.code == 1)
            #expect(refusal.errors.contains("did not send READY=1 within 3.5"), "\(refusal.errors)")
            #expect(try stuck.end() == 0)
        }

        @Test("For an app that cannot be reloaded the reason is printed, and the others are reloaded anyway")
        func refusals() throws {
            let service = try Service([
                "plain": "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nReadiness=none\n",
                "down": "[App]\nEnabled=no\nExecStart=/bin/sleep 1000\nExecReload=/bin/true\n",
                "good": "[App]\nExecStart=/bin/sleep 1000\nExecReload=/bin/true\n[Watchdog]\nReadiness=none\n",
            ])
            for name in ["plain", "good"] { try service.wait(for: name) { $0.state == .running } }
            let answer = try service.command("reload", "plain", "down", "good")
            #expect(answer.code == 1)
            #expect(
                answer.errors == """
                    watchdogd: plain was not asked to reload: its configuration has no ExecReload= in [App]
                    watchdogd: down is not running

                    """)
            #expect(answer.output.hasPrefix("good reloaded within "))
            #expect(try service.command("reload", "goood").code == 66)
            let first = try service.command("reload", "goood", "down", "good")
            #expect(first.code == 66 && first.output.hasPrefix("good reloaded within "))
            #expect(try service.command("reload", "--no-wait").code == 64)
            #expect(try service.end() == 0)
        }

        @Test("An app that is asked to exit while it reloads ends its reload")
        func endsMeanwhile() throws {
            let service = try service("silent", reload: "ExecReload=/bin/sleep 1236")
            try service.wait(for: "app") { $0.state == .running }
            let reload = try Program([
                product("watchdogd"), "reload", "app", "--control", service.scratch["control"],
            ])
            #expect(eventually { service.processes.count == 2 })
            #expect(try service.command("reload", "app").errors.contains("it is already reloading"))
            #expect(try service.command("terminate", "app").code == 0)
            #expect(try reload.end().code == 1)
            #expect(reload.text(.errors) == "watchdogd: app was not reloaded: it has ended\n")
            #expect(eventually { service.processes.isEmpty })
            #expect(try service.end() == 0)
        }
    }
}
