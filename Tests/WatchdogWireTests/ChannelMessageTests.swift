// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogWire

@Suite("Messages of the channel")
struct ChannelMessageTests {
    private func fromApp(_ build: (inout ClientMessage) -> Void) -> ClientMessage {
        var message = ClientMessage()
        build(&message)
        return message
    }

    private func fromSupervisor(_ build: (inout SupervisorMessage) -> Void) -> SupervisorMessage {
        var message = SupervisorMessage()
        build(&message)
        return message
    }

    @Test("the supervisor's keys read as documented")
    func supervisorText() {
        let message = fromSupervisor {
            ($0.ping, $0.visibility, $0.event) = (.max, .background, "touch")
            ($0.isExpiring, $0.isTerminating) = (true, true)
        }
        let text = "PING=18446744073709551615\nSTATE=background\nEXPIRE=1\nTERMINATE=1\nEVENT=touch\n"
        #expect(String(decoding: message.datagram, as: UTF8.self) == text)
        #expect(SupervisorMessage(decoding: text.utf8) == message)
        #expect(SupervisorMessage(ping: 0).datagram == Array("PING=0\n".utf8))
    }

    @Test("the app's keys read as documented")
    func clientText() {
        let message = fromApp {
            $0.hello = .init(version: 1, process: 42, library: "Watchdog/1.0")
            ($0.isReady, $0.pong, $0.status, $0.summary, $0.isStopping) = (true, 7, "up", "loads", true)
            ($0.thread, $0.timeoutExtension, $0.progress) = (43, .seconds(3), "row 12")
        }
        let text = """
            HELLO=1
            PID=42
            LIBRARY=Watchdog/1.0
            READY=1
            PONG=7
            THREAD=43
            STATUS=up
            EXTEND_TIMEOUT_USEC=3000000
            PROGRESS=row 12
            SUMMARY=loads
            STOPPING=1

            """
        #expect(String(decoding: message.datagram, as: UTF8.self) == text)
        #expect(ClientMessage(decoding: text.utf8) == message)
    }

    @Test("a greeting needs no process and no library, but they need a greeting")
    func hello() {
        #expect(ClientMessage(decoding: "HELLO=1".utf8).hello == .init(version: 1))
        #expect(ClientMessage(decoding: "PID=5\nLIBRARY=x\n".utf8) == ClientMessage())
        #expect(ClientMessage(decoding: "HELLO=0\nPID=5".utf8) == fromApp { $0.malformed = 1 })
    }

    @Test(
        "an unusable value from an app is dropped and counted",
        arguments: [
            "PONG=", "PONG=-1", "PONG=18446744073709551616", "PONG=0x1", "PONG=1 ", "THREAD=0", "READY=true",
            "STOPPING=", "HELLO=-1", "HELLO=99999999999999999999", "EXTEND_TIMEOUT_USEC=0",
            "EXTEND_TIMEOUT_USEC=9223372036854775808", "=", "==", "=1", "PONG",
        ]
    )
    func unusableFromApp(line: String) {
        #expect(ClientMessage(decoding: line.utf8) == fromApp { $0.malformed = 1 })
        let among = ClientMessage(decoding: "STATUS=a\r\n\(line)\r\nSUMMARY=b".utf8)
        #expect(among == fromApp { ($0.status, $0.summary, $0.malformed) = ("a", "b", 1) })
    }

    @Test(
        "an unusable value from a supervisor is dropped and counted",
        arguments: [
            "PING=", "PING=x", "PING=18446744073709551616",
            "STATE=", "STATE=Foreground", "EXPIRE=0", "TERMINATE=now",
        ]
    )
    func unusableFromSupervisor(line: String) {
        #expect(SupervisorMessage(decoding: line.utf8) == fromSupervisor { $0.malformed = 1 })
        let among = SupervisorMessage(decoding: "\(line)\nEVENT=touch\n".utf8)
        #expect(among == fromSupervisor { ($0.event, $0.malformed) = ("touch", 1) })
    }

    @Test("of two pings or two answers in one datagram the first counts")
    func duplicates() {
        #expect(SupervisorMessage(decoding: "PING=1\nPING=2\n".utf8) == SupervisorMessage(ping: 1))
        #expect(ClientMessage(decoding: "PONG=1\nPONG=2\n".utf8) == fromApp { $0.pong = 1 })
    }

    @Test("keys of later versions are counted and ignored")
    func unknown() {
        #expect(SupervisorMessage(decoding: "PING=1\nFUTURE=x\n".utf8).unknown == 1)
        #expect(ClientMessage(decoding: "STATE_DONE=background\nSIGNPOST=x\n".utf8) == fromApp { $0.unknown = 2 })
    }

    @Test("nothing comes of nothing", arguments: ["", "\n", "\r\n", "\0"])
    func nothing(text: String) {
        #expect(SupervisorMessage(decoding: text.utf8) == SupervisorMessage())
        #expect(ClientMessage(decoding: text.utf8) == ClientMessage())
    }

    @Test("an overlong datagram or one with a NUL inside is refused whole")
    func refused() {
        for text in ["PING=1\nPONG=1\n\0READY=1\n", "PING=1\nPONG=1\nSTATUS=" + String(repeating: "x", count: 4096)] {
            #expect(SupervisorMessage(decoding: text.utf8) == fromSupervisor { $0.malformed = 1 })
            #expect(ClientMessage(decoding: text.utf8) == fromApp { $0.malformed = 1 })
        }
    }

    @Test("texts of an app are cut at their limits and at whole scalars, coming and going")
    func limits() {
        let text = String(repeating: "€", count: 1000)
        let decoded = ClientMessage(decoding: "SUMMARY=\(text)\n".utf8)
        #expect(decoded.summary == String(repeating: "€", count: 42))
        #expect(ClientMessage(decoding: fromApp { $0.summary = text }.datagram).summary == decoded.summary)
        #expect(ClientMessage(decoding: "STATUS=\(text)\n".utf8).status?.utf8.count == 1023)
        #expect(ClientMessage(decoding: "PROGRESS=\(text)\n".utf8).progress?.utf8.count == 255)
        #expect(ClientMessage(decoding: "HELLO=1\nLIBRARY=\(text)\n".utf8).hello?.library?.utf8.count == 63)
        #expect(SupervisorMessage(decoding: "EVENT=\(text)\n".utf8).event?.utf8.count == 63)
    }

    @Test("a text cannot smuggle in another key")
    func injection() {
        let decoded = ClientMessage(decoding: fromApp { $0.status = "x\nPONG=1\rREADY=1\0" }.datagram)
        #expect(decoded == fromApp { $0.status = "x PONG=1 READY=1 " })
    }

    @Test("what an app encodes is decoded to the same", arguments: 0..<20 as Range<UInt64>)
    func clientRoundTrip(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let sent = fromApp {
                $0.hello = random.maybe { random in
                    ClientMessage.Hello(
                        version: Int.random(in: 1 ... .max, using: &random),
                        process: random.maybe { Int32.random(in: 1 ... .max, using: &$0) },
                        library: random.maybe { $0.text(limit: 64) }
                    )
                }
                $0.isReady = Bool.random(using: &random)
                $0.pong = random.maybe { $0.next() }
                $0.thread = random.maybe { Int32.random(in: 1 ... .max, using: &$0) }
                $0.status = random.maybe { $0.text(limit: 1024) }
                $0.timeoutExtension = random.maybe { $0.duration() }
                $0.progress = random.maybe { $0.text(limit: 256) }
                $0.summary = random.maybe { $0.text(limit: 128) }
                $0.isStopping = Bool.random(using: &random)
            }
            #expect(sent.datagram.count <= Wire.Limit.datagram)
            #expect(ClientMessage(decoding: sent.datagram) == sent)
        }
    }

    @Test("what a supervisor encodes is decoded to the same", arguments: 0..<20 as Range<UInt64>)
    func supervisorRoundTrip(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let sent = fromSupervisor {
                $0.ping = random.maybe { $0.next() }
                $0.visibility = random.maybe { Bool.random(using: &$0) ? .foreground : .background }
                $0.isExpiring = Bool.random(using: &random)
                $0.isTerminating = Bool.random(using: &random)
                $0.event = random.maybe { $0.text(limit: 64) }
            }
            #expect(SupervisorMessage(decoding: sent.datagram) == sent)
        }
    }

    @Test("random hostile datagrams are survived and stay sendable", arguments: 0..<20 as Range<UInt64>)
    func hostile(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let keys = [
            "PING", "STATE", "EXPIRE", "TERMINATE", "EVENT", "HELLO", "PID", "LIBRARY", "READY", "PONG", "STATUS",
            "EXTEND_TIMEOUT_USEC", "PROGRESS", "SUMMARY", "STOPPING", "X",
        ]
        for _ in 0..<50 {
            let datagram = random.hostileDatagram(keys: keys)
            let fromApp = ClientMessage(decoding: datagram).datagram
            #expect(fromApp.count <= Wire.Limit.datagram)
            #expect(ClientMessage(decoding: fromApp).malformed == 0)
            let fromSupervisor = SupervisorMessage(decoding: datagram).datagram
            #expect(SupervisorMessage(decoding: fromSupervisor).malformed == 0)
        }
    }
}
