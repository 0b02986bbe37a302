// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogPolicy

@Suite("Lifecycle scripts")
struct ScriptTests {
    private func commands(_ text: String) throws -> [LifecycleScript.Command] {
        try LifecycleScript(parsing: ConfigurationFile(path: "s", text: text)).steps.map(\.command)
    }

    private func errors(_ text: String) -> [String] {
        do {
            _ = try commands(text)
            return []
        } catch let failure as LifecycleScript.Failure {
            return failure.diagnostics.map(\.description)
        } catch {
            return ["\(error)"]
        }
    }

    @Test("every command is parsed")
    func everything() throws {
        let text = """
            # saves, and is suspended
            launch background   # into the background
            wait ready within 1min 30s
            \tevent url  http://x/?a=1 #2\t
            event tick
            foreground
            background
            suspend
            resume
            fault stop 2s
            fault network loss 20% for 1s
            sleep 250ms
            expect alive
            expect state suspended
            expect background
            expect killed
            expect killed 0x2182bad2
            expect killed 0x8BADF00D:scene-update
            expect reported 0xdead10cc
            expect exited
            expect exited 3
            terminate

            """
        let expected: [LifecycleScript.Command] = [
            .launch(inBackground: true), .wait(.ready, within: .seconds(90)),
            .request(.event(kind: "url", payload: "http://x/?a=1 #2")), .request(.event(kind: "tick", payload: "")),
            .request(.foreground), .request(.background), .request(.suspend), .request(.resume),
            .inject(try Fault(parsing: "stop 2s")), .inject(try Fault(parsing: "network loss 20% for 1s")),
            .pass(.milliseconds(250)), .expect(.alive), .expect(.state(.suspended)), .expect(.state(.background)),
            .expect(.killed(nil, nil)), .expect(.killed(.backgroundTask, nil)),
            .expect(.killed(.ateBadFood, .sceneUpdate)), .expect(.reported(.deadLock)), .expect(.exited(nil)),
            .expect(.exited(3)), .terminate,
        ]
        #expect(try commands(text) == expected)
        let script = try LifecycleScript(parsing: ConfigurationFile(path: "s", text: text))
        #expect(script.launchesInBackground)
        #expect(script.faults.count == 2)
        #expect(script.steps[1].line == 3)
        #expect(script.steps[2].text == "event url  http://x/?a=1 #2")
    }

    @Test(
        "each error names its place and a remedy",
        arguments: [
            ("launch\nbackgruond", "s:2:1: error: unknown command \"backgruond\"; did you mean \"background\"?"),
            ("launch\nwait redy", "s:2:6: error: unknown condition \"redy\"; did you mean \"ready\"?"),
            ("launch\nsleep 2", "s:2:7: error: \"2\" has no unit; write 2s or 2ms"),
            ("launch\nsleep", "s:2:1: error: sleep lacks a time span, such as sleep 2s"),
            ("launch\nwait", "s:2:1: error: wait lacks what to wait for, such as wait ready"),
            ("launch\nwait ready within", "s:2:12: error: within lacks a time span, such as within 5s"),
            ("launch\nexpect", "s:2:1: error: expect lacks what is expected, such as expect alive"),
            ("launch\nevent", "s:2:1: error: event lacks the kind of the event, such as event url"),
            ("launch\nfault", "s:2:1: error: fault lacks what goes wrong, such as fault stop 2s"),
            ("launch\nfault stp 2s", "s:2:7: error: unknown fault \"stp\"; did you mean stop?"),
            (
                "launch\nfault stop 2s at ready",
                "s:2:15: error: a fault in a script begins when the script reaches it; leave out \"at\""
            ),
            (
                "launch\nfault memory 64M",
                "s:2:7: error: memory applies from the launch until the app exits; use run --fault"
            ),
            ("launch\n  suspend now", "s:2:11: error: nothing is expected after the command"),
            (
                "launch\nexpect killed 0x8badf00",
                "s:2:15: error: unknown code \"0x8badf00\"; did you mean \"0x8badf00d\"?"
            ),
            ("launch\nexpect exited 256", "s:2:15: error: \"256\" is not an exit code; write 0 to 255"),
            ("launch\nlaunch", "s:2:1: error: the app is launched once, at the beginning"),
            ("suspend", "s:1:1: error: a script begins with launch; did you mean \"launch\"?"),
            ("launch event", "s:1:8: error: event lacks the kind of the event, such as event url"),
            ("launch background foreground", "s:1:19: error: nothing is expected after the command"),
            ("launch bakground", "s:1:8: error: unknown place \"bakground\"; did you mean \"background\"?"),
            ("# nothing", "s: error: the script is empty; its first command is launch"),
            ("launch\nevent \u{1b}[2J", "s:2:7: error: control characters have no place here"),
            (
                "launch\néé xx",
                "s:2:1: error: unknown command \"éé\"; use one of launch, wait, event, foreground, background, suspend, resume, fault, terminate, sleep, expect"
            ),
        ])
    func mistakes(text: String, message: String) {
        #expect(errors(text) == [message])
    }

    @Test(
        "a launch may go into the background, be for an event, or both",
        arguments: [
            ("launch", .launch(inBackground: false)), ("launch foreground", .launch(inBackground: false)),
            ("launch event tick # now", .launch(inBackground: false, for: .init(kind: "tick", payload: "# now"))),
            (
                "launch background event url http://x/  #2",
                .launch(inBackground: true, for: .init(kind: "url", payload: "http://x/  #2"))
            ),
            ("launch background # event url", .launch(inBackground: true)),
        ] as [(String, LifecycleScript.Command)])
    func launches(text: String, command: LifecycleScript.Command) throws {
        #expect(try commands(text) == [command])
        let script = try LifecycleScript(parsing: ConfigurationFile(path: "s", text: text))
        if case .launch(_, let cause) = command { #expect(script.launchingEvent == cause) }
    }

    @Test("all errors are reported, not only the first")
    func allErrors() {
        #expect(errors("launch\nfoo\nsleep x\nexpect what ever").count == 3)
    }

    @Test("bytes that are not text, and too many of them, are rejected")
    func hostile() {
        let bytes = ConfigurationFile(path: "s", contents: Array("launch\n".utf8) + [0xff, 0xfe])
        #expect(throws: LifecycleScript.Failure.self) { try LifecycleScript(parsing: bytes) }
        let long = ConfigurationFile(path: "s", contents: [UInt8](repeating: 0x20, count: 300 << 10))
        #expect(throws: LifecycleScript.Failure.self) { try LifecycleScript(parsing: long) }
    }
}
