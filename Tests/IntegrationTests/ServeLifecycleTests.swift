// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogControl

extension EndToEnd {
    @Suite("watchdogd serve, moving apps")
    struct ServeLifecycleTests {
        private static let app =
            "[App]\nExecStart=/usr/bin/python3 \(quoted("\(subjects)/lifecycle_app.py")) save=0.2\n"

        @Test("An app moves to the requested state, and each command returns when it is there")
        func moves() throws {
            let service = try Service(["a": Self.app])
            _ = try service.wait(for: "a") { $0.state == .running }
            for (command, state) in [
                ("background", "background"), ("suspend", "suspended"), ("resume", "background"),
                ("foreground", "foreground"),
            ] {
                let answer = try service.command(command, "a")
                #expect(answer.code == 0, "\(command): \(answer.errors)")
                #expect(try service.client.describe(DescribeRequest("a")).details?.lifecycle == state)
            }
            #expect(try service.command("event", "a", "url", "http://x/").code == 0)
            let refused = try service.command("resume", "a")
            #expect(refused.code == 1)
            #expect(refused.errors == "watchdogd: a was not asked to resume: it is not suspended\n")
            #expect(try service.end() == 0)
        }

        @Test("An app's file sets when it is suspended, and the state into which it is launched")
        func settings() throws {
            let service = try Service([
                "soon": Self.app + "[Watchdog]\nSuspendAfter=200ms\n",
                "never": Self.app + "[Watchdog]\nSuspendAfter=off\n",
                "hidden": Self.app + "[Watchdog]\nSuspendAfter=off\nLaunchInBackground=yes\nBackgroundLaunchCPU=20s\n",
            ])
            func lifecycle(_ name: String) throws -> String? {
                try service.client.describe(DescribeRequest(name)).details?.lifecycle
            }
            for name in ["soon", "never", "hidden"] { try service.wait(for: name) { $0.state == .running } }
            #expect(try lifecycle("soon") == "foreground")
            #expect(try lifecycle("hidden") == "background")
            for name in ["never", "soon"] { #expect(try service.command("background", name).code == 0) }
            #expect(try eventually { try lifecycle("soon") == "suspended" })
            #expect(try lifecycle("never") == "background")
            #expect(try service.end() == 0)
        }

        @Test("An app that is not running, or does not participate, is reported")
        func outsiders() throws {
            let service = try Service([
                "down": "[App]\nEnabled=no\nExecStart=/bin/sleep 1000\n",
                "plain": "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nReadiness=none\n",
            ])
            _ = try service.wait(for: "plain") { $0.state == .running }
            #expect(try service.command("suspend", "down").errors == "watchdogd: down is not running\n")
            #expect(try service.command("suspend", "plain").code == 0)
            #expect(try service.command("resume", "plain").code == 0)
            let event = try service.command("event", "plain", "url")
            #expect(event.code == 1)
            #expect(event.errors.contains("it does not take part in the lifecycle"))
            #expect(try service.end() == 0)
        }

        @Test("event --launch launches a stopped app for the event, and delivers it to a running one")
        func eventLaunch() throws {
            let service = try Service(["a": Self.app + "Enabled=no\n"])
            let refused = try service.command("event", "a", "url", "http://x/")
            #expect(refused.errors == "watchdogd: a is not running\n")
            let launched = try service.command("event", "--launch", "a", "url", "http://x/")
            #expect(launched.code == 0, "\(launched.errors)")
            let pid = try service.wait(for: "a") { $0.state == .running }.pid
            let environment = contents(of: "/proc/\(try #require(pid))/environ") ?? []
            #expect(environment.split(separator: 0).contains { $0.elementsEqual("WATCHDOG_EVENT=url".utf8) })
            #expect(try service.command("event", "--launch", "a", "tick").code == 0)
            #expect(try service.app("a").pid == pid)
            #expect(try service.end() == 0)
        }

        @Test("An app that is launched for an event of another app learns which one, and nobody can claim to be one")
        func eventOfApp() throws {
            let scratch = try Scratch()
            // Two shells deep, as a script of an app may be.
            let ask = "\(product("watchdogd")) event --control \(scratch["control"]) --launch reader url x"
            try scratch.write("sh -c '\(ask); true'\nexec sleep 1000\n", to: "mail.sh")
            let service = try Service(
                [
                    "reader": Self.app + "Enabled=no\n",
                    "mail": "[App]\nEnabled=no\nExecStart=/bin/sh \(quoted(scratch["mail.sh"]))\n"
                        + "[Watchdog]\nReadiness=none\n",
                ], scratch: scratch)
            #expect(try service.command("launch", "mail").code == 0)
            try service.wait(for: "reader") { $0.state == .running }
            func event() throws -> String? {
                try service.client.describe(DescribeRequest("reader")).details?.launchedFor
            }
            #expect(try eventually { try event()?.contains("handled in") == true })
            #expect(try event()?.hasPrefix("url from mail, 1 byte of payload: ") == true)
            #expect(try service.command("terminate", "reader").code == 0)
            #expect(try service.command("event", "--launch", "reader", "url", "EVENT_FROM=mail").code == 0)
            #expect(try event()?.hasPrefix("url, 15 bytes of payload: handled in") == true)
            let injected = try service.command("event", "reader", "url", "x\nEVENT_FROM=mail")
            #expect(injected.code == 76)
            #expect(injected.errors == "watchdogd: parameter \"payload\" is invalid\n")
            #expect(try service.end() == 0)
        }

        @Test("event --launch reports why the app cannot be launched")
        func eventLaunchFails() throws {
            let service = try Service(["a": "[App]\nEnabled=no\nExecStart=/nowhere/program\n"])
            let answer = try service.command("event", "--launch", "a", "url")
            #expect(answer.code == 1)
            #expect(answer.errors.contains("/nowhere/program"), "\(answer.errors)")
            #expect(try service.end() == 0)
        }

        @Test("A suspended app is terminated with the daemon")
        func endsSuspended() throws {
            let service = try Service(["a": Self.app])
            _ = try service.wait(for: "a") { $0.state == .running }
            #expect(try service.command("suspend", "a").code == 0)
            #expect(try service.end() == 0)
        }
    }
}
