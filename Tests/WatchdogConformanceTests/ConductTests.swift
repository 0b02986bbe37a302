// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogWire

@testable import WatchdogConformance

@Suite("The record of a client's messages")
struct ConductTests {
    private func conduct(_ datagrams: String...) -> Conduct {
        var conduct = Conduct()
        for (index, datagram) in datagrams.enumerated() {
            conduct.take(Array(datagram.utf8), at: Instant(nanoseconds: Int64(index)))
        }
        return conduct
    }

    @Test("a client that greets, becomes ready and answers has no fault")
    func good() {
        let conduct = conduct(
            "HELLO=1\nPID=7\nLIBRARY=mine\nLIFECYCLE=1", "READY=1", "PONG=5\nTHREAD=9", "BEGIN_TASK=1 save",
            "STATE_DONE=1", "END_TASK=1", "EVENT_DONE=3")
        #expect(conduct.faults == [])
        #expect(conduct.beginsWithHello == true && conduct.isReady && conduct.hello?.process == 7)
        #expect(conduct.pongs == [5] && conduct.answer(to: 5) == Instant(nanoseconds: 2))
        #expect(conduct.answer(to: 5, since: 3) == nil && conduct.answer(to: 6) == nil)
        #expect(conduct.isStateDone(1) && !conduct.isStateDone(2) && !conduct.isStateDone(1, since: 5))
        #expect(conduct.eventDone(2) == Instant(nanoseconds: 6) && conduct.eventDone(4) == nil)
        #expect(conduct.openTasks == [])
    }

    @Test(
        "a malformed message is recorded",
        arguments: [
            ("HELLO=1\nREADY", "malformed"), ("HELLO=1\nFUTURE=2", "does not have"), ("HELLO=2", "version 2"),
            ("", "empty"), ("PONG=x", "malformed"), ("END_TASK=4", "has not begun"),
        ])
    func faults(datagram: String, fault: String) {
        let conduct = conduct(datagram)
        #expect(conduct.faults.count == 1 && conduct.faults.first?.contains(fault) == true, "\(conduct.faults)")
    }

    @Test("a reused number and a second greeting are recorded")
    func repeated() {
        #expect(conduct("BEGIN_TASK=1 a", "BEGIN_TASK=1 b").faults == ["it uses the number of background task 1 twice"])
        #expect(conduct("HELLO=1", "HELLO=1").faults == ["it sends HELLO twice"])
        #expect(conduct("READY=1", "HELLO=1").beginsWithHello == false)
        #expect(conduct().beginsWithHello == nil)
    }

    @Test("a task is open until it has ended")
    func tasks() {
        #expect(conduct("BEGIN_TASK=1 a\nBEGIN_TASK=2 b", "END_TASK=1").openTasks == [2])
    }

    @Test("faults of a client that floods are bounded, and contain no terminal controls")
    func bounded() {
        var conduct = Conduct()
        for number in 0..<1_000 { conduct.take(Array("\u{1b}[2J\(number)".utf8), at: Instant(nanoseconds: 0)) }
        #expect(conduct.faults == ["it sends malformed lines: '\\x1b[2J0'"])
        for number in UInt64(0)..<1_000 {
            conduct.take(Array("END_TASK=\(number + 1)".utf8), at: Instant(nanoseconds: 0))
        }
        #expect(conduct.faults.count == 16)
    }

    @Test("messages are kept up to a limit, and one more is a fault")
    func most() {
        var conduct = Conduct()
        for _ in 0..<Conduct.most { conduct.take(Array("PONG=1".utf8), at: Instant(nanoseconds: 0)) }
        #expect(conduct.faults == [] && conduct.heard.count == Conduct.most)
        conduct.take(Array("PONG=1".utf8), at: Instant(nanoseconds: 0))
        #expect(conduct.faults == ["it sends more than 65536 messages in one launch"])
        #expect(conduct.heard.count == Conduct.most)
    }

    @Test("FD_CLOEXEC is read from fdinfo")
    func closedOnExec() {
        #expect(ClientUnderTest.isClosedOnExec("pos:\t0\nflags:\t02000002\nmnt_id:\t10\n"))
        #expect(!ClientUnderTest.isClosedOnExec("pos:\t0\nflags:\t02\nmnt_id:\t10\n"))
        #expect(!ClientUnderTest.isClosedOnExec(""))
    }
}
