// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Foreground, background and suspension, by script")
    struct LifecycleTests {
        private func play(
            _ script: String, _ app: [String], options: [String] = ["--time-scale", "0.1"]
        ) throws -> Ending {
            let scratch = try Scratch()
            let path = try scratch.write(script, to: "script")
            return try Supervision(
                options + ["--script", path, "--verbose"],
                ["/usr/bin/python3", "\(subjects)/lifecycle_app.py"] + app, scratch: scratch
            ).end()
        }

        @Test("An app saves in the background, is suspended, and returns")
        func wholeWay() throws {
            let ending = try play(
                """
                launch
                wait ready
                event url http://x/ y
                background
                wait background
                wait suspended
                foreground
                wait foreground
                expect alive
                """, ["save=0.2", "marks"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.output == "none\nevent url http://x/ y\n")
            #expect(ending.reports.isEmpty)
            #expect(ending.summary?.lifecycle?.backgroundTasks == 1)
            #expect(ending.summary?.lifecycle?.resumes.count == 1)
            #expect(ending.summary?.lifecycle?.mistakes == 0)
            let launch = try #require(ending.summary?.launch)
            #expect(launch.signposts?.map(\.name) == ["read settings", "fetch", "drawn"])
            #expect(launch.firstFrameMilliseconds ?? 0 > 0)
            #expect((0...100).contains(launch.mainThreadBlockedPercent ?? -1))
            #expect(ending.errors.contains { $0.hasPrefix("main   read settings") }, "\(ending.errors)")
        }

        @Test("A task left open is a kill that names it")
        func leak() throws {
            let ending = try play(
                "launch\nwait ready\nbackground\nexpect killed 0x2182bad2:background-task\n", ["leak"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            let report = try #require(ending.reports.first)
            #expect(report.body.termination?.code == 0x2182_bad2)
            #expect(report.body.linux?.lifecycle?.openTasks.map(\.name) == ["Saving library"])
            #expect(report.body.linux?.lifecycle?.openTasks.first?.ageNanoseconds ?? 0 >= 3_000_000_000)
            #expect(ending.summary?.incidents.first?.code == "0x2182bad2")
        }

        @Test("A lock held at suspension is a kill that names the file", arguments: ["lock", "posix"])
        func heldLock(kind: String) throws {
            let scratch = try Scratch()
            let ending = try play(
                "launch\nwait ready\nsuspend\nexpect killed 0xdead10cc\n", ["\(kind)=\(scratch["db"])"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            let details = try #require(ending.reports.first?.body.linux?.lifecycle)
            #expect(details.lockedFiles.map(\.path) == [scratch["db"]])
            #expect(details.history.last?.state == "suspended")
            #expect(ending.reports.first?.body.threads.first?.frames.isEmpty == false, "a frozen process has stacks")
        }

        @Test(
            "A move to the background that takes too long is a kill; one that almost does is not",
            arguments: [false, true])
        func slow(isTooSlow: Bool) throws {
            let ending = try play(
                isTooSlow
                    ? "launch\nwait ready\nbackground\nexpect killed 0x8badf00d:scene-update\n"
                    : "launch\nwait ready\nbackground\nwait background\nexpect alive\n",
                ["slow=\(isTooSlow ? 8 : 0.5)"], options: ["--time-scale", "0.4"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.reports.isEmpty != isTooSlow)
        }

        @Test("A suspended app uses no CPU time and has no deadline; it is killed without a request")
        func suspended() throws {
            let ending = try play(
                "launch\nwait ready\nsuspend\nwait suspended\nsleep 10s\nexpect suspended\nterminate\n", [])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.termination == "killedOnRequest")
            #expect(ending.summary?.exit?.signal == "SIGKILL")
            #expect(ending.reports.isEmpty)
        }

        @Test("A program that does not participate is suspended and resumed")
        func outsider() throws {
            let scratch = try Scratch()
            let path = try scratch.write(
                "launch\nwait ready\nsuspend\nwait suspended\nresume\nexpect foreground\nterminate\nexpect exited\n",
                to: "script")
            let ending = try Supervision(
                unhurried(["--readiness", "none", "--script", path]), ["/bin/sleep", "1000"], scratch: scratch
            ).end()
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.exit?.signal == "SIGTERM")
        }

        @Test("A launch into the background has limited CPU time, and the app is told how much")
        func backgroundLaunch() throws {
            let burning = try play("launch background\nexpect killed 0x8badf00d\n", ["burn"])
            #expect(burning.exitCode == 0, "\(burning.errors)")
            let report = try #require(burning.reports.first)
            #expect(report.body.linux?.allowance.kind == "cpu-time")
            #expect(
                report.body.termination?.reasons?.first?.contains("exhausted CPU time allowance of 0.50 seconds")
                    == true)

            let idle = try play("launch background\nwait ready\nexpect background\nwait suspended\n", [])
            #expect(idle.exitCode == 0, "\(idle.errors)")
            #expect(idle.output == "background\n")
        }

        @Test("An app launched for an event learns its kind, and gets the event first")
        func eventLaunch() throws {
            let ending = try play(
                "launch background event push 7 new\nwait ready\nevent url x\nwait suspended\n", [])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.output == "background push\nevent push 7 new\nevent url x\n")
        }

        @Test("A launch for an event fails a script if the program does not participate in the lifecycle")
        func eventForOutsider() throws {
            let scratch = try Scratch()
            let path = try scratch.write("launch event url x\nwait ready\nsleep 1s\n", to: "script")
            let ending = try Supervision(
                ["--readiness", "none", "--script", path], ["/bin/sleep", "1000"], scratch: scratch
            ).end()
            #expect(ending.exitCode == 1)
            #expect(ending.errors.contains { $0.contains("event url was refused") }, "\(ending.errors)")
        }

        @Test("An app that answers without a request keeps running")
        func wrong() throws {
            let ending = try play(
                "launch\nwait ready\nbackground\nwait background\nexpect alive\n", ["wrong"],
                options: ["--time-scale", "0.2"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.summary?.lifecycle?.mistakes == 4)
        }

        @Test("A failing script exits with 1 and names the step")
        func untrue() throws {
            let ending = try play("launch\nwait ready\nexpect background\n", [])
            #expect(ending.exitCode == 1)
            #expect(
                ending.messages.contains {
                    $0.hasPrefix("watchdogd: the script failed: ")
                        && $0.hasSuffix(":3: expect background: python3 is in the foreground")
                }, "\(ending.messages)")
        }

        @Test("A script with mistakes launches nothing, and each mistake is reported with its place")
        func mistakes() throws {
            let ending = try play("launch\nbackgruond\nsleep 2\n", [])
            #expect(ending.exitCode == 65)
            #expect(ending.summary == nil)
            #expect(ending.output.isEmpty)
            #expect(ending.messages.count == 2)
            #expect(
                ending.messages[0].contains(":2:1: error: unknown command \"backgruond\"; did you mean \"background\"?")
            )
            #expect(ending.messages[1].contains(":3:7: error: \"2\" has no unit"))
            let missing = try supervise(["--script", "/nonexistent"], ["/bin/true"])
            #expect(missing.exitCode == 66)
        }

        @Test("A script whose app cannot be started has the app's exit code")
        func notStarted() throws {
            let scratch = try Scratch()
            let path = try scratch.write("launch\nwait ready\n", to: "script")
            let ending = try Supervision(["--script", path], ["/nonexistent"], scratch: scratch).end()
            #expect(ending.exitCode == 127)
        }

        @Test("In report mode everything is reported")
        func reportOnly() throws {
            let ending = try play(
                "launch\nwait ready\nbackground\nexpect reported 0x2182bad2\nwait suspended\nresume\nexpect alive\n",
                ["leak"], options: ["--time-scale", "0.1", "--enforce", "report"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.reports.count == 1)
        }
    }
}
