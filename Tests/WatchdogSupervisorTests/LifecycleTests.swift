// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("The lifecycle protocol on virtual time")
struct LifecycleTests {
    private let kernel = ScriptedEffects()

    /// Answers pings, states and events immediately, and ends its tasks when they expire.
    private func launch(endsTasks: Bool = true, hello: String = "HELLO=1\nLIFECYCLE=1\n") -> Supervisor {
        kernel.onSend = { [kernel] text in
            let fields = Dictionary(
                text.split(separator: "\n").map { line in
                    let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    return (String(parts[0]), String(parts[1]))
                }, uniquingKeysWith: { first, _ in first })
            for (question, answer) in [("PING", "PONG"), ("STATE_ID", "STATE_DONE"), ("EVENT_ID", "EVENT_DONE")] {
                guard let number = fields[question] else { continue }
                kernel.after(.microseconds(100)) { kernel.say("\(answer)=\(number)\n") }
            }
            if fields["EXPIRE"] != nil, endsTasks {
                kernel.after(.milliseconds(10)) { kernel.say("END_TASK=1\nEND_TASK=2\n") }
            }
        }
        let supervisor = kernel.supervise(AppSpec(name: "App"))
        supervisor.launch()
        kernel.say(hello)
        kernel.say("READY=1\n")
        return supervisor
    }

    private var sent: [String] {
        kernel.calls.compactMap { if case .send(let text) = $0 { text } else { nil } }
    }

    @Test("an app saves in the background, is suspended, returns, and exits")
    func wholeLife() {
        let supervisor = launch()
        kernel.run(for: .seconds(5))
        kernel.say("BEGIN_TASK=1 save\nBEGIN_TASK=2\n")
        supervisor.request(.background)
        kernel.run(for: .seconds(26))
        #expect(supervisor.machine.lifecycleState == .suspended)
        supervisor.request(.foreground)
        kernel.run(for: .seconds(1))
        supervisor.request(.event(kind: "url", payload: "http://x/"))
        kernel.run(for: .seconds(1))
        #expect(
            sent == [
                "STATE=background\nSTATE_ID=1\nBACKGROUND_USEC=30000000\n", "BACKGROUND_USEC=30000000\n",
                "BACKGROUND_USEC=5000000\nEXPIRE=1\n", "STATE=foreground\nSTATE_ID=2\n",
                "EVENT=url\nEVENT_ID=1\nPAYLOAD=http://x/\n",
            ])
        #expect(kernel.calls.contains(.freeze) && kernel.calls.contains(.thaw))
        #expect(supervisor.machine.lifecycleRecord.mistakes.total == 0)
        #expect(supervisor.machine.lifecycleRecord.resumes.count == 1)
        #expect(kernel.outcome == nil)
    }

    @Test(
        "what became of the event that an app was launched for is in its record, without the payload",
        arguments: [
            ("EVENT_DONE=1\n", "handled in 1.00 s"),
            ("EVENT_LOST=1\nEVENT_DONE=1\n", "lost, because nothing in the app listens for it"),
            ("EVENT_DONE=7\n", "not handled yet"),
        ])
    func cause(answer: String, fate: String) {
        let supervisor = kernel.supervise(AppSpec(name: "App"))
        supervisor.request(launchingEvent: LaunchingEvent(kind: "url", payload: "secret://7", sender: "mail"))
        supervisor.launch()
        kernel.say("HELLO=1\nLIFECYCLE=1\n")
        kernel.say("READY=1\n")
        supervisor.request(.event(kind: "tap", payload: ""))
        let event = "EVENT=url\nEVENT_ID=1\nPAYLOAD=secret://7\nEVENT_FROM=mail\n"
        #expect(sent.filter { $0.hasPrefix("EVENT=") } == [event, "EVENT=tap\nEVENT_ID=2\n"])
        kernel.run(for: .seconds(1))
        kernel.say(answer)
        #expect(supervisor.record.trace.cause?.words == "url from mail, 10 bytes of payload: \(fate)")
        #expect(supervisor.machine.lifecycleRecord.mistakes.total == (answer.contains("7") ? 1 : 0))
        // A later answer is not that of the launch.
        kernel.say("EVENT_LOST=2\n")
        #expect(supervisor.record.trace.cause?.words.hasSuffix(fate == "not handled yet" ? "in 1.00 s" : fate) == true)
    }

    @Test("a program that takes no part is not sent the event that it was launched for")
    func causeRefused() {
        let supervisor = kernel.supervise(AppSpec(name: "App"))
        supervisor.request(launchingEvent: LaunchingEvent(kind: "url", payload: ""))
        supervisor.launch()
        kernel.say("HELLO=1\nREADY=1\n")
        #expect(supervisor.record.trace.cause?.words == "url: refused, because it does not take part in the lifecycle")
    }

    @Test("a task left open is a kill with its own code")
    func leakedTask() {
        let supervisor = launch(endsTasks: false)
        kernel.say("BEGIN_TASK=1 save\n")
        supervisor.request(.background)
        kernel.run(for: .seconds(60))
        guard case .watchdog(let incident) = kernel.outcome?.cause else {
            Issue.record("ended by \(String(describing: kernel.outcome))")
            return
        }
        #expect(incident.code.hexadecimal == "0x2182bad2")
    }

    @Test("within a datagram, beginnings of tasks count before its state, and ends after it")
    func order() {
        let supervisor = launch()
        kernel.onSend = { _ in }
        supervisor.request(.background)
        kernel.say("END_TASK=1\nSTATE_DONE=1\nBEGIN_TASK=1 save\n")
        #expect(supervisor.machine.lifecycleRecord.openTasks.isEmpty)
        #expect(supervisor.machine.lifecycleRecord.mistakes.total == 0)
        #expect(supervisor.machine.lifecycleRecord.taskCount == 1)
    }

    @Test("a flood does not lose the end of a task")
    func flood() {
        let supervisor = launch()
        for id in 1...3_000 { kernel.say("BEGIN_TASK=\(id) t\nSTATUS=\(id)\n"); kernel.say("END_TASK=\(id)\n") }
        #expect(supervisor.account.dropped > 1_000)
        #expect(supervisor.machine.lifecycleRecord.openTasks.isEmpty)
        #expect(kernel.outcome == nil)
    }

    @Test("an app that does not declare the lifecycle is sent no state")
    func outsider() {
        let supervisor = launch(hello: "HELLO=1\n")
        supervisor.request(.background)
        supervisor.request(.suspend)
        kernel.run(for: .seconds(60))
        #expect(sent.isEmpty)
        #expect(supervisor.machine.lifecycleState == .suspended)
    }

    @Test("a suspended app is killed without SIGTERM")
    func endOfSuspended() {
        let supervisor = launch()
        supervisor.request(.suspend)
        kernel.run(for: .seconds(60))
        supervisor.requestTermination()
        kernel.run(for: .seconds(1))
        #expect(kernel.calls.contains { if case .signal = $0 { true } else { false } } == false)
        #expect(kernel.outcome?.cause == .killedOnRequest)
    }

    @Test("signposts are matched by category, name and number, and are bounded")
    func trace() {
        let supervisor = launch()
        kernel.say("SIGNPOST=begin 1 1000 main net\tload\nSIGNPOST=begin 2 2000 other net\tload\n")
        kernel.say("SIGNPOST=end 1 5000 main net\tload\nSIGNPOST=event 0 6000 main ui\tdrawn\nFIRST_FRAME=1\n")
        kernel.say("SIGNPOST=end 9 5000 main net\tload\n")
        let intervals = supervisor.trace.intervals
        #expect(intervals.map(\.end?.nanoseconds) == [5_000, nil, nil])
        #expect(intervals.map(\.isOnMainThread) == [true, false, true])
        #expect(supervisor.trace.firstFrame != nil)
        #expect(supervisor.trace.lost == 1)
        for id in 0..<600 { kernel.say("SIGNPOST=begin \(id) 1 main a\tb\n") }
        #expect(supervisor.trace.intervals.count == 512)
    }
}
