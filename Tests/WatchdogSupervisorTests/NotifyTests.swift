// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@testable import WatchdogLaunch

@Suite("Unmodified programs on the notify socket")
struct NotifyTests {
    private let kernel = ScriptedEffects()

    private func launch(_ spec: AppSpec = AppSpec(name: "App")) -> Supervisor {
        let supervisor = kernel.supervise(spec)
        supervisor.launch()
        return supervisor
    }

    @Test("READY=1 with a status ends the launch")
    func ready() {
        let supervisor = launch()
        kernel.after(.seconds(2)) { [kernel] in kernel.notify("READY=1\nSTATUS=serving\nMAINPID=100\n") }
        kernel.run(for: .seconds(60))
        #expect(kernel.calls == [.spawn])
        #expect(kernel.notices.contains(.ready(.notify, after: .seconds(2))))
        #expect(supervisor.account.status == "serving")
        #expect(supervisor.account.mainProcess == 100)
    }

    @Test("a program that sent a message and never became ready is killed for process-launch")
    func neverReady() {
        _ = launch()
        kernel.notify("STATUS=loading\n")
        kernel.run(for: .seconds(60))
        #expect(kernel.calls.contains(.capture(.processLaunch, at: .seconds(20))))
    }

    @Test(
        "messages must be read immediately unless the app is ready and only signs of life are expected"
    )
    func expectation() {
        let supervisor = launch()
        #expect(kernel.isExpecting)
        kernel.notify("STATUS=loading\n")
        #expect(kernel.isExpecting)
        kernel.notify("READY=1\n")
        #expect(!kernel.isExpecting)
        for _ in 0..<3 {
            kernel.run(for: .seconds(1))
            kernel.notify("WATCHDOG=1\n")
            #expect(!kernel.isExpecting)
        }
        supervisor.requestTermination()
        #expect(kernel.isExpecting)
    }

    @Test(
        "messages must be read immediately when the app exits or is being judged",
        arguments: ["STOPPING=1\n", "WATCHDOG=trigger\n"])
    func expectation(message: String) {
        _ = launch()
        kernel.notify("READY=1\n")
        #expect(!kernel.isExpecting)
        kernel.notify(message)
        #expect(kernel.isExpecting)
    }

    @Test("a foreign MAINPID is rejected")
    func foreignMainProcess() {
        let supervisor = launch()
        kernel.notify("MAINPID=1\n")
        #expect(supervisor.account.mainProcess == nil)
    }

    @Test("WATCHDOG=1 arms the update allowance, and WATCHDOG_USEC sets it")
    func pushes() {
        _ = launch()
        kernel.notify("READY=1\nWATCHDOG_USEC=2000000\n")
        kernel.after(.milliseconds(1_999)) { [kernel] in kernel.notify("WATCHDOG=1\n") }
        kernel.run(for: .seconds(3))
        #expect(kernel.calls == [.spawn])
        kernel.run(for: .seconds(3))
        #expect(kernel.calls.contains(.capture(.sceneUpdate, at: .milliseconds(3_999))))
    }

    @Test("a message that waited behind others counts from its sending time", arguments: [0, 1, 60, 100, 5_000])
    func age(milliseconds: Int64) {
        _ = launch()
        kernel.notify("READY=1\nWATCHDOG_USEC=2000000\n")
        kernel.run(for: .seconds(1))
        let age = Duration.milliseconds(milliseconds)
        kernel.supervisor?.handle(.notifyMessage(Array("WATCHDOG=1".utf8), age: age))
        // The wall clock may have been set, so no age above 100 ms is trusted.
        let deadline = Duration.seconds(3) - min(age, .milliseconds(100))
        kernel.run(for: deadline - .seconds(1) - .nanoseconds(1))
        #expect(kernel.calls == [.spawn])
        kernel.run(for: .milliseconds(1))
        #expect(kernel.calls.contains(.capture(.sceneUpdate, at: deadline)))
    }

    @Test("no message counts as older than the one handled before it")
    func order() {
        _ = launch()
        kernel.notify("READY=1\nWATCHDOG_USEC=2000000\n")
        kernel.run(for: .seconds(1))
        kernel.notify("WATCHDOG=1\n")
        kernel.supervisor?.handle(.notifyMessage(Array("WATCHDOG=1".utf8), age: .milliseconds(100)))
        kernel.run(for: .seconds(4))
        #expect(kernel.calls.contains(.capture(.sceneUpdate, at: .seconds(3))))
    }

    @Test("a ready program that never pushed is not killed for missing pushes")
    func noPushes() {
        _ = launch()
        kernel.notify("READY=1\n")
        kernel.run(for: .seconds(600))
        #expect(kernel.calls == [.spawn])
    }

    @Test("WATCHDOG=trigger is an immediate incident")
    func trigger() {
        _ = launch()
        kernel.notify("READY=1\n")
        kernel.run(for: .seconds(1))
        kernel.notify("WATCHDOG=trigger\n")
        kernel.run(for: .seconds(1))
        #expect(kernel.calls.contains(.capture(.sceneUpdate, at: .seconds(1))))
    }

    @Test("an extension counts only with a new status or new progress")
    func extensions() {
        _ = launch()
        for second in stride(from: 5, through: 60, by: 5) {
            kernel.after(.seconds(second)) { [kernel] in
                kernel.notify("EXTEND_TIMEOUT_USEC=20000000\nSTATUS=recovered \(min(second, 30)) %\n")
            }
        }
        kernel.run(for: .seconds(120))
        // The last extension with progress was at 30 s and requested 20 s more.
        #expect(kernel.calls.contains(.capture(.processLaunch, at: .seconds(50))))
        #expect(kernel.notices.contains(.extensionRefused(.noProgress)))
    }

    @Test("a flood loses its statuses but keeps its signs of life")
    func flood() {
        let supervisor = launch()
        kernel.notify("READY=1\n")
        for count in 0..<10_000 { kernel.notify("STATUS=\(count)\nWATCHDOG=1\n") }
        #expect(supervisor.account.status == "998")
        #expect(supervisor.account.dropped == 9_001)
        kernel.run(for: .seconds(9))
        #expect(kernel.calls == [.spawn])
    }

    @Test("garbage is counted and otherwise ignored")
    func garbage() {
        let supervisor = launch()
        kernel.supervisor?.handle(.notifyMessage([0xff, 0x00, 0x3d, 0x0a] + Array(repeating: 0x41, count: 8_000)))
        kernel.supervisor?.handle(.channelMessage(Array("PONG=1\nPONG\n=\nHELLO=x\n".utf8)))
        kernel.run(for: .seconds(1))
        #expect(kernel.calls == [.spawn])
        #expect(supervisor.machine.strayAnswers == 1)
        #expect(supervisor.account.malformed > 0)
    }
}
