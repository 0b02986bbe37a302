// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogPolicy

@Suite("Observed processes")
struct ObservedTests {
    @Test(
        "A target is a process, a container or a service",
        arguments: [
            ("1234", ObservedTarget.process(1_234)),
            ("nginx", .service("nginx.service")),
            ("nginx.service", .service("nginx.service")),
            ("postgresql@15-main", .service("postgresql@15-main.service")),
            ("3f2a9c1b77de", .container("3f2a9c1b77de")),
            ("container:web", .container("web")),
            ("container:shop/web-0/nginx", .container("shop/web-0/nginx")),
            // With one digit less, it is the name of a service.
            ("3f2a9c1b77d", .service("3f2a9c1b77d.service")),
            (String(repeating: "a", count: 64), .container(String(repeating: "a", count: 64))),
            (String(repeating: "a", count: 65), .service(String(repeating: "a", count: 65) + ".service")),
        ])
    func targets(text: String, target: ObservedTarget) throws {
        #expect(try ObservedTarget(parsing: text) == target)
    }

    @Test(
        "A target without a process is rejected with a hint",
        arguments: [
            ("x.timer", "x.timer has no process; only services can be observed, such as nginx.service"),
            (
                "a b",
                "\"a b\" is not a service, a process ID or a container; "
                    + "use a name such as nginx.service or container:web, or a number such as 1234"
            ),
            (
                "container:../x",
                "\"container:../x\" is not a service, a process ID or a container; "
                    + "use a name such as nginx.service or container:web, or a number such as 1234"
            ),
            (
                "../x",
                "\"../x\" is not a service, a process ID or a container; "
                    + "use a name such as nginx.service or container:web, or a number such as 1234"
            ),
        ])
    func noTargets(text: String, message: String) {
        #expect {
            try ObservedTarget(parsing: text)
        } throws: {
            "\($0)" == message
        }
    }

    @Test("A service's name has at most 255 bytes")
    func longNames() throws {
        let longest = "n" + String(repeating: "x", count: 254 - ".service".utf8.count)
        #expect(throws: Never.self) { try ObservedTarget(parsing: longest) }
        #expect(throws: ObservedTarget.ParseError.self) { try ObservedTarget(parsing: longest + "x") }
    }

    @Test("An observed app needs no program, is reported and not killed, and is observed forever")
    func observed() throws {
        let app = try app("[App]\nObserve=nginx\n[Watchdog]\nProbe=tcp:127.0.0.1:80\nEnforce=restart-unit\n")
        #expect(app.lines == [])
        let configuration = try #require(app.configuration)
        #expect(configuration.observed?.target == .service("nginx.service"))
        #expect(configuration.observed?.restartsUnit == true)
        #expect(configuration.spec.enforcement == .report)
        #expect(configuration.restart.policy == .always)
        #expect(configuration.restart.limit == .infinity)
    }

    @Test("No command of an app file runs inside an observed target")
    func commands() throws {
        let app = try app("[App]\nObserve=nginx\nExecReload=/bin/kill -HUP $MAINPID\nExecStartPre=/bin/true\n")
        #expect(
            app.lines == [
                "3:1: warning: ExecReload: no effect, because of Observe=",
                "4:1: warning: ExecStartPre: no effect, because of Observe=",
            ])
        let program = try #require(app.configuration?.program)
        #expect(program.reloadCommands == [] && program.preparations == [])
    }

    @Test(
        "A setting that contradicts an observation is an error, and one without a meaning for it a warning",
        arguments: [
            ("[App]\nObserve=nginx\nExecStart=/bin/web\n", ["2:1: error: Observe: cannot be combined with ExecStart="]),
            (
                "[App]\nObserve=1234\n",
                ["2:9: error: Observe: a process ID changes with each start; name a service or a container"]
            ),
            ("[App]\nObserve=nginx\nUser=www\n", ["3:1: warning: User: no effect, because of Observe="]),
            (
                "[App]\nObserve=nginx\n[Watchdog]\nEnforce=kill\n",
                ["4:1: error: Enforce: watchdogd does not kill what it observes; use report or restart-unit"]
            ),
            (
                "[App]\nObserve=3f2a9c1b77de\n[Watchdog]\nEnforce=restart-unit\n",
                ["4:1: error: Enforce: restart-unit applies only to a service"]
            ),
            (
                "[App]\nExecStart=/bin/web\n[Watchdog]\nEnforce=restart-unit\n",
                ["4:1: error: Enforce: restart-unit needs an Observe= in [App]"]
            ),
        ])
    func contradictions(text: String, lines: [String]) throws {
        #expect(try app(text).lines == lines)
    }
}
