// SPDX-License-Identifier: Apache-2.0

import TestSupport
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

    @Test("the supervisor's keys are parsed as documented")
    func supervisorText() {
        let message = fromSupervisor {
            ($0.ping, $0.transition) = (.max, .init(to: .background, id: 3))
            ($0.backgroundTime, $0.isExpiring, $0.isTerminating) = (.seconds(30), true, true)
            $0.event = .init(kind: "touch", id: 9, payload: "x=1 y=2", sender: "mail")
            $0.hang = .seconds(2)
        }
        let text = """
            PING=18446744073709551615
            STATE=background
            STATE_ID=3
            BACKGROUND_USEC=30000000
            EXPIRE=1
            TERMINATE=1
            HANG_USEC=2000000
            EVENT=touch
            EVENT_ID=9
            PAYLOAD=x=1 y=2
            EVENT_FROM=mail

            """
        #expect(String(decoding: message.datagram, as: UTF8.self) == text)
        #expect(SupervisorMessage(decoding: text.utf8) == message)
        #expect(SupervisorMessage(ping: 0).datagram == Array("PING=0\n".utf8))
    }

    @Test("the app's keys are parsed as documented")
    func clientText() {
        let message = fromApp {
            $0.hello = .init(version: 1, process: 42, library: "Watchdog/1.0", hasLifecycle: true, allowsFaults: true)
            ($0.isReady, $0.pong, $0.status, $0.summary, $0.isStopping) = (true, 7, "up", "loads", true)
            ($0.thread, $0.timeoutExtension, $0.progress) = (43, .seconds(3), "row 12")
            ($0.stateDone, $0.eventDone, $0.isFirstFrame, $0.isUseful) = (3, 9, true, true)
            $0.tasksBegun = [.init(id: 1, name: "save it"), .init(id: 2, name: "")]
            $0.tasksEnded = [1, 2]
            $0.eventsLost = [7, 8]
            ($0.launchTasksBegun, $0.launchTasksEnded) = (["first rows", "plots"], ["plots"])
            $0.signpostsLost = 5
            $0.signposts = [
                .init(.begin, category: "photos", name: "load all", id: 7, nanoseconds: 12, isOnMainThread: true),
                .init(.event, category: "", name: "tap", nanoseconds: 13, isOnMainThread: false, message: "row 4"),
            ]
        }
        let text = """
            HELLO=1
            PID=42
            LIBRARY=Watchdog/1.0
            LIFECYCLE=1
            FAULTS=1
            READY=1
            PONG=7
            THREAD=43
            STATUS=up
            EXTEND_TIMEOUT_USEC=3000000
            PROGRESS=row 12
            SUMMARY=loads
            STOPPING=1
            EVENT_DONE=9
            FIRST_FRAME=1
            USEFUL=1
            SIGNPOSTS_LOST=5
            EVENT_LOST=7
            EVENT_LOST=8
            BEGIN_TASK=1 save it
            BEGIN_TASK=2 \("")
            STATE_DONE=3
            END_TASK=1
            END_TASK=2
            BEGIN_LAUNCH_TASK=first rows
            BEGIN_LAUNCH_TASK=plots
            END_LAUNCH_TASK=plots
            SIGNPOST=begin 7 12 main photos\tload all
            SIGNPOST=event 0 13 other \ttap\trow 4

            """
        #expect(String(decoding: message.datagram, as: UTF8.self) == text)
        #expect(ClientMessage(decoding: text.utf8) == message)
    }

    @Test("a greeting needs no process and no library, but they need a greeting")
    func hello() {
        #expect(ClientMessage(decoding: "HELLO=1".utf8).hello == .init(version: 1))
        #expect(ClientMessage(decoding: "PID=5\nLIBRARY=x\nLIFECYCLE=1".utf8) == ClientMessage())
        #expect(ClientMessage(decoding: "HELLO=0\nPID=5".utf8) == fromApp { $0.malformed = 1 })
    }

    @Test(
        "an unusable value from an app is dropped and counted",
        arguments: [
            "PONG=", "PONG=-1", "PONG=18446744073709551616", "PONG=0x1", "PONG=1 ", "THREAD=0", "READY=true",
            "STOPPING=", "HELLO=-1", "HELLO=99999999999999999999", "EXTEND_TIMEOUT_USEC=0",
            "EXTEND_TIMEOUT_USEC=9223372036854775808", "=", "==", "=1", "PONG",
            "LIFECYCLE=yes", "STATE_DONE=0", "STATE_DONE=background", "EVENT_DONE=-1", "FIRST_FRAME=2",
            "SIGNPOSTS_LOST=0",
            "BEGIN_TASK=", "BEGIN_TASK=0 x", "BEGIN_TASK= 1 x", "BEGIN_TASK=save", "END_TASK=", "END_TASK=1 x",
            "SIGNPOST=", "SIGNPOST=begin 1 2 main name", "SIGNPOST=begin 1 2 main a\tb\tc\td",
            "SIGNPOST=begin 1 2 a\tb",
            "SIGNPOST=Begin 1 2 main a\tb", "SIGNPOST=begin -1 2 main a\tb", "SIGNPOST=begin 1 -2 main a\tb",
            "SIGNPOST=begin 1 9223372036854775808 main a\tb", "SIGNPOST=begin 1 2 thread a\tb",
            "SIGNPOST=end  2 main a\tb",
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
            "STATE=", "STATE=Foreground", "EXPIRE=0", "TERMINATE=now", "STATE=background", "STATE_ID=0", "STATE_ID=x",
            "BACKGROUND_USEC=0", "EVENT_ID=0",
        ]
    )
    func unusableFromSupervisor(line: String) {
        #expect(SupervisorMessage(decoding: line.utf8) == fromSupervisor { $0.malformed = 1 })
        let among = SupervisorMessage(decoding: "\(line)\nPING=7\n".utf8)
        #expect(among.malformed == 1)
        #expect(among.ping == (line.hasPrefix("PING") ? nil : 7))
    }

    @Test("a state or an event without its number is unusable, and a number alone has no meaning")
    func numbers() {
        #expect(SupervisorMessage(decoding: "EVENT=tap\nPAYLOAD=x".utf8) == fromSupervisor { $0.malformed = 1 })
        #expect(SupervisorMessage(decoding: "STATE_ID=1\nEVENT_ID=1\nPAYLOAD=x".utf8) == SupervisorMessage())
        let event = SupervisorMessage(decoding: "EVENT=tap\nEVENT_ID=1".utf8).event
        #expect(event == .init(kind: "tap", id: 1))
    }

    @Test("the first of two pings or answers in one datagram counts")
    func duplicates() {
        #expect(SupervisorMessage(decoding: "PING=1\nPING=2\n".utf8) == SupervisorMessage(ping: 1))
        #expect(ClientMessage(decoding: "PONG=1\nPONG=2\n".utf8) == fromApp { $0.pong = 1 })
    }

    @Test("keys of later versions are counted and ignored")
    func unknown() {
        #expect(SupervisorMessage(decoding: "PING=1\nFUTURE=x\n".utf8).unknown == 1)
        #expect(ClientMessage(decoding: "STATE=background\nBEGIN=x\n".utf8) == fromApp { $0.unknown = 2 })
    }

    @Test("an empty text yields an empty message", arguments: ["", "\n", "\r\n", "\0"])
    func nothing(text: String) {
        #expect(SupervisorMessage(decoding: text.utf8) == SupervisorMessage())
        #expect(ClientMessage(decoding: text.utf8) == ClientMessage())
    }

    @Test("an overlong datagram, or one with a NUL inside, is rejected completely")
    func refused() {
        for text in ["PING=1\nPONG=1\n\0READY=1\n", "PING=1\nPONG=1\nSTATUS=" + String(repeating: "x", count: 4096)] {
            #expect(SupervisorMessage(decoding: text.utf8) == fromSupervisor { $0.malformed = 1 })
            #expect(ClientMessage(decoding: text.utf8) == fromApp { $0.malformed = 1 })
        }
    }

    @Test("an app's texts are cut at their limits and at whole scalars, in both directions")
    func limits() {
        let text = String(repeating: "€", count: 1000)
        let decoded = ClientMessage(decoding: "SUMMARY=\(text)\n".utf8)
        #expect(decoded.summary == String(repeating: "€", count: 42))
        #expect(ClientMessage(decoding: fromApp { $0.summary = text }.datagram).summary == decoded.summary)
        #expect(ClientMessage(decoding: "STATUS=\(text)\n".utf8).status?.utf8.count == 1023)
        #expect(ClientMessage(decoding: "PROGRESS=\(text)\n".utf8).progress?.utf8.count == 255)
        #expect(ClientMessage(decoding: "HELLO=1\nLIBRARY=\(text)\n".utf8).hello?.library?.utf8.count == 63)
        let event = SupervisorMessage(decoding: "EVENT=\(text)\nEVENT_ID=1\n".utf8).event
        #expect(event?.kind.utf8.count == 63)
        let sender = SupervisorMessage(decoding: "EVENT=x\nEVENT_ID=1\nEVENT_FROM=\(text)\n".utf8).event?.sender
        #expect(sender?.utf8.count == 63)
        #expect(
            SupervisorMessage(decoding: "EVENT=x\nEVENT_ID=1\nPAYLOAD=\(text)\n".utf8).event?.payload.utf8.count == 2046
        )
        #expect(ClientMessage(decoding: "BEGIN_TASK=1 \(text)\n".utf8).tasksBegun.first?.name.utf8.count == 126)
        #expect(ClientMessage(decoding: "BEGIN_LAUNCH_TASK=\(text)\n".utf8).launchTasksBegun.first?.utf8.count == 63)
        let short = String(text.prefix(400))
        let signpost = ClientMessage(decoding: "SIGNPOST=end 1 2 main \(short)\t\(short)\t\(short)".utf8).signposts
            .first
        #expect(signpost?.category.utf8.count == 63)
        #expect(signpost?.name.utf8.count == 63)
        #expect(signpost?.message.utf8.count == 255)
    }

    @Test("a text cannot inject another key")
    func injection() {
        let decoded = ClientMessage(decoding: fromApp { $0.status = "x\nPONG=1\rREADY=1\0" }.datagram)
        #expect(decoded == fromApp { $0.status = "x PONG=1 READY=1 " })
        let signpost = ClientMessage.Signpost(
            .event, category: "a\tb", name: "c\nREADY=1", nanoseconds: -1, isOnMainThread: true, message: "d\te")
        let task = ClientMessage.BackgroundTask(id: 1, name: "x\nEND_TASK=1")
        let sent = fromApp { ($0.signposts, $0.tasksBegun) = ([signpost], [task]) }
        let received = ClientMessage(decoding: sent.datagram)
        #expect(received.tasksBegun == [.init(id: 1, name: "x END_TASK=1")])
        #expect(received.tasksEnded.isEmpty && !received.isReady && received.malformed == 0)
        #expect(received.signposts.first?.category == "a b")
        #expect(received.signposts.first?.name == "c READY=1")
        #expect(received.signposts.first?.message == "d e")
        #expect(received.signposts.first?.nanoseconds == 0)
    }

    @Test("values that exceed one datagram follow in the next ones, and nothing overtakes the beginning of a task")
    func remainder() {
        let name = String(repeating: "n", count: 128)
        let everything = fromApp {
            ($0.pong, $0.isReady, $0.stateDone) = (1, true, 2)
            $0.tasksBegun = (1...1200).map { .init(id: $0, name: name) }
            $0.tasksEnded = Array(1...1200)
            $0.launchTasksBegun = ["first"]
            $0.signposts = (0..<500).map {
                .init(.event, category: "c", name: name.prefix(64).description, nanoseconds: $0, isOnMainThread: true)
            }
        }
        var (rest, sum, isStateDone, count) = (everything, ClientMessage(), false, 0)
        while rest != ClientMessage(), count < 1000 {
            count += 1
            let (bytes, remainder) = rest.encoded
            #expect(bytes.count <= Wire.Limit.datagram && !bytes.isEmpty)
            let received = ClientMessage(decoding: bytes)
            #expect(received.malformed == 0)
            sum.tasksBegun += received.tasksBegun
            if received.stateDone != nil || !received.tasksEnded.isEmpty || !received.signposts.isEmpty {
                #expect(sum.tasksBegun.count == 1200)
            }
            isStateDone = isStateDone || received.stateDone == 2
            #expect(received.tasksEnded.isEmpty || isStateDone)
            sum.tasksEnded += received.tasksEnded
            sum.launchTasksBegun += received.launchTasksBegun
            sum.signposts += received.signposts
            #expect(received.pong == (count == 1 ? 1 : nil))
            rest = remainder
        }
        (sum.pong, sum.isReady, sum.stateDone) = (1, true, 2)
        #expect(sum == everything)
    }

    @Test("an app's message survives encoding and decoding", arguments: 0..<20 as Range<UInt64>)
    func clientRoundTrip(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let sent = fromApp {
                $0.hello = random.maybe { random in
                    ClientMessage.Hello(
                        version: Int.random(in: 1 ... .max, using: &random),
                        process: random.maybe { Int32.random(in: 1 ... .max, using: &$0) },
                        library: random.maybe { $0.text(limit: 64) },
                        hasLifecycle: Bool.random(using: &random),
                        allowsFaults: Bool.random(using: &random)
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
                $0.stateDone = random.maybe { UInt64.random(in: 1 ... .max, using: &$0) }
                $0.eventDone = random.maybe { UInt64.random(in: 1 ... .max, using: &$0) }
                $0.isFirstFrame = Bool.random(using: &random)
                $0.isUseful = Bool.random(using: &random)
                $0.tasksBegun = random.list {
                    .init(id: .random(in: 1 ... .max, using: &$0), name: $0.text(limit: 128))
                }
                $0.tasksEnded = random.list { .random(in: 1 ... .max, using: &$0) }
                $0.launchTasksBegun = random.list { $0.text(limit: 64) }
                $0.launchTasksEnded = random.list { $0.text(limit: 64) }
                $0.signposts = random.list { $0.signpost() }
                $0.signpostsLost = random.maybe { Int.random(in: 1 ... .max, using: &$0) }
            }
            #expect(sent.datagram.count <= Wire.Limit.datagram)
            #expect(sent.remainder == ClientMessage())
            #expect(ClientMessage(decoding: sent.datagram) == sent)
        }
    }

    @Test("a supervisor's message survives encoding and decoding", arguments: 0..<20 as Range<UInt64>)
    func supervisorRoundTrip(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let sent = fromSupervisor {
                $0.ping = random.maybe { $0.next() }
                $0.transition = random.maybe {
                    .init(
                        to: Bool.random(using: &$0) ? .foreground : .background, id: .random(in: 1 ... .max, using: &$0)
                    )
                }
                $0.backgroundTime = random.maybe { $0.duration() }
                $0.hang = random.maybe { $0.duration() }
                $0.isExpiring = Bool.random(using: &random)
                $0.isTerminating = Bool.random(using: &random)
                $0.event = random.maybe {
                    let (kind, payload) = ($0.text(limit: 64), $0.text(limit: 2048))
                    return .init(kind: kind, id: .random(in: 1 ... .max, using: &$0), payload: payload)
                }
            }
            #expect(sent.datagram.count <= Wire.Limit.datagram)
            #expect(SupervisorMessage(decoding: sent.datagram) == sent)
        }
    }

    @Test("random hostile datagrams are tolerated and stay sendable", arguments: 0..<20 as Range<UInt64>)
    func hostile(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let keys = [
            "PING", "STATE", "EXPIRE", "TERMINATE", "EVENT", "HELLO", "PID", "LIBRARY", "READY", "PONG", "STATUS",
            "EXTEND_TIMEOUT_USEC", "PROGRESS", "SUMMARY", "STOPPING", "X", "STATE_ID", "STATE_DONE", "EVENT_ID",
            "PAYLOAD", "BACKGROUND_USEC", "EVENT_DONE", "BEGIN_TASK", "END_TASK", "BEGIN_LAUNCH_TASK",
            "END_LAUNCH_TASK",
            "SIGNPOST", "SIGNPOST=begin 1 2 main a\tb", "SIGNPOSTS_LOST", "FIRST_FRAME", "LIFECYCLE",
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
