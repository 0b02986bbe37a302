// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("A main thread that only waits for another thread's exit")
struct JoinedThreadTests {
    private static let futex = "202 0x7f2a98001a40 0x109 0x1093 0x0 0x0 0xffffffff 0x7ffd39e8 0x7f2a9cf0f2ad"
    private static let receive = "45 0x7 0x1 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"

    /// Main thread 4242 waits for the exit of 4243, as a launcher does; 4243 for that of 4244 if there is one, and the
    /// last of them for an answer.
    private static func report(threads: Int = 2, isDeadlocked: Bool = false) -> Report {
        var capture = Samples.capture
        let own = capture.threads[0].frames
        var last = capture.threads[0]
        last.syscall = receive
        capture.threads[0].frames = [
            Frame(
                address: 0x7f2a_9ce8_9d20, imageIndex: 1, imageOffset: 0x89d20, symbol: "pthread_join",
                trust: .registers),
            Frame(
                address: 0x5581_0000_4000, imageIndex: 0, imageOffset: 0x4000, symbol: "launch_and_wait", trust: .cfi),
        ]
        capture.threads[0].syscall = futex
        capture.threads[1] = capture.threads[0]
        if threads == 3 { capture.threads.append(capture.threads[0]) }
        last.frames = own
        capture.threads[threads - 1] = last
        for (index, name) in ["hang-main", "starter", "reader"].prefix(threads).enumerated() {
            capture.threads[index].id = 4242 + index
            capture.threads[index].name = name
        }
        var waits = (0..<(threads - 1)).map { index in
            WaitDetails(
                process: 4242, thread: 4242 + index, name: "hang-main", syscall: futex, subject: "the end of a thread",
                holder: .init(
                    relation: .ends, process: 4242, thread: 4243 + index, name: capture.threads[index + 1].name,
                    state: "S"),
                isDeadlocked: isDeadlocked, sources: [])
        }
        waits.append(
            WaitDetails(
                process: 4242, thread: 4241 + threads, name: "reader", syscall: receive,
                subject: "fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED, nothing to read", sources: []))
        var facts = Samples.facts()
        facts.evidence.state = "S"
        facts.evidence.syscall = futex
        facts.evidence.waits = waits
        return Samples.report(facts, capture: capture)
    }

    @Test("is explained by the last such thread, with that thread's calls", arguments: [2, 3])
    func last(threads: Int) throws {
        let explanation = Explanation(of: Self.report(threads: threads))
        let name = threads == 2 ? "starter" : "reader"
        let words =
            "Main thread waits for the end of thread \(threads - 1) (\(name)), which waits for an answer from 127.0.0.1:8080"
        #expect(explanation.headline == words)
        #expect(explanation.culprit == "\(words) in Socket.receive() (Socket.swift:41)")
        #expect(explanation.joined == "thread \(threads - 1) (\(name))")
        #expect(explanation.innermost?.function == "recv")
        #expect(explanation.calls.first?.function == "Socket.receive()")
        #expect(!explanation.others.contains { $0.index == threads - 1 })
        #expect(
            explanation.text.contains(
                "\nThread     thread \(threads - 1) (\(name)), for whose end the main thread waits\n"))
    }

    @Test("has the same signature as one whose thread waits at the same place, and not elsewhere")
    func signature() {
        let signature = Signature(of: Self.report())
        #expect(signature.cause == "blocked in recvfrom")
        #expect(signature.frames.first == "Socket.receive()")
        #expect(signature == Signature(of: Self.report(threads: 3)))
    }

    @Test("keeps its own stack in a cycle of joins, which is a deadlock")
    func circle() {
        let explanation = Explanation(of: Self.report(isDeadlocked: true))
        #expect(explanation.joined == nil)
        #expect(explanation.innermost?.function == "pthread_join")
    }
}
