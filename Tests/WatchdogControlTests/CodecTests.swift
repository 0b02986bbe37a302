// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogControl

@Suite("Messages")
struct CodecTests {
    private func messages(_ chunks: [[UInt8]], limit: Int = 100) throws -> [[UInt8]] {
        var buffer = MessageBuffer(limit: limit)
        var found: [[UInt8]] = []
        for chunk in chunks {
            var rest = chunk[...]
            while !rest.isEmpty {
                let part = rest.prefix(buffer.room)
                buffer.append(part)
                rest = rest.dropFirst(part.count)
                while buffer.hasMessage, let message = try buffer.next() { found.append(message) }
            }
        }
        return found
    }

    @Test("the same messages are decoded however the bytes are split")
    func framing() throws {
        let bytes = Array("one\0two\0three\0\(String(repeating: "x", count: 100))\0rest".utf8)
        let expected = ["one", "two", "three", String(repeating: "x", count: 100)].map { Array($0.utf8) }
        for size in 1...bytes.count {
            let chunks = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(try messages(chunks) == expected, "\(size)")
        }
    }

    @Test("a message over the limit is rejected at the last byte that fits, and an empty one immediately")
    func faults() throws {
        #expect(throws: MessageFault.tooLong(limit: 3)) { try messages([Array("abcd".utf8)], limit: 3) }
        #expect(try messages([Array("abc\0".utf8)], limit: 3) == [Array("abc".utf8)])
        #expect(throws: MessageFault.empty) { try messages([[0]]) }
        #expect(throws: MessageFault.empty) { try messages([Array("a\0\0".utf8)]) }
    }

    @Test("a buffer releases the memory of a long message")
    func memory() throws {
        var buffer = MessageBuffer(limit: 1 << 20)
        buffer.append([UInt8](repeating: 1, count: 1 << 20) + [0])
        #expect(buffer.room == 0)
        #expect(try buffer.next()?.count == 1 << 20)
        #expect(buffer.room == (1 << 20) + 1)
        #expect(!buffer.hasMessage)
    }

    @Test("depth is counted only outside of strings")
    func depth() throws {
        let brackets = String(repeating: "[", count: 100)
        try JSONShape.check(Array(#"{"a":"\#(brackets)"}"#.utf8))
        try JSONShape.check(Array(#"{"a":"\"\#(brackets)"}"#.utf8))
        #expect(throws: MessageFault.tooDeep(limit: 32)) { try JSONShape.check(Array(#"{"a":\#(brackets)}"#.utf8)) }
        let deep = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
        try JSONShape.check(Array(#"  {"a":\#(deep)}"#.utf8))
        try JSONShape.check(Array(#"{"a":1\#(String(repeating: "]", count: 1000))"#.utf8))
    }

    @Test("a call's head and parameters are decoded, and parameters are optional")
    func call() throws {
        let decoder = JSONDecoder()
        let text = #"{"parameters":{"name":"a","wait":true},"more":true,"x":[1,{}],"method":"a.b.C","oneway":null}"#
        let call = try VarlinkCall(decoding: Array(text.utf8), with: decoder)
        #expect(call.method == "a.b.C")
        #expect(call.wantsMore && !call.isOneway && !call.wantsUpgrade)
        #expect(try call.parameters(as: AppRequest.self, with: decoder) == AppRequest("a", waits: true))
        let bare = try VarlinkCall(decoding: Array(#"{"method":"m"}"#.utf8), with: decoder)
        #expect(try bare.parameters(as: EmptyRequest.self, with: decoder) == EmptyRequest())
        #expect(try bare.parameters(as: MonitorRequest.self, with: decoder) == MonitorRequest())
        #expect(throws: ControlError.invalidParameter("name")) {
            try bare.parameters(as: CaptureRequest.self, with: decoder)
        }
    }

    @Test("mutilated calls are decoded or rejected, without other effects")
    func fuzz() {
        let decoder = JSONDecoder()
        var generator = SeededGenerator(seed: 0xdead_10cc)
        let calls = [
            #"{"method":"a.b","parameters":{"name":"web","wait":true},"oneway":false,"more":null}"#,
            #"{"method":"a.b","parameters":{"apps":["a","b\u00e9\ud83d\ude00"],"history":12,"logLines":-3e2}}"#,
            #"{"parameters":{"interface":"\\\"\/\b","limit":18446744073709551616,"app":null},"method":"x"}"#,
        ]
        let spice =
            Array(#"{}[]",:\/0123456789eE+-.truefalsn"#.utf8) + [0, 0x20, 0x0a, 0xff, 0xc3, 0x80, 0xed, 0xa0, 0xf4]
        var read = 0
        for _ in 0..<Self.fuzzRounds {
            var bytes = Array(calls.randomElement(using: &generator, or: "").utf8)
            for _ in 0..<Int.random(in: 0...5, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0...4, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(spice.randomElement(using: &generator, or: 0), at: place)
                case 2: bytes.removeSubrange(place..<min(bytes.count, place + 9))
                case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 9)], at: place)
                default: bytes[place] = spice.randomElement(using: &generator, or: 0)
                }
            }
            expectSame(bytes, decoder)
            guard let call = try? VarlinkCall(decoding: bytes, with: decoder) else { continue }
            read += 1
            _ = try? call.parameters(as: AppRequest.self, with: decoder)
            _ = try? call.parameters(as: MonitorRequest.self, with: decoder)
            _ = try? call.parameters(as: DescribeRequest.self, with: decoder)
            _ = try? call.parameters(as: ReportsRequest.self, with: decoder)
            _ = try? call.parameters(as: InterfaceRequest.self, with: decoder)
            _ = try? call.parameters(as: EmptyRequest.self, with: decoder)
        }
        #expect(read > Self.fuzzRounds / 5)
    }

    private static let fuzzRounds = 3_000

    private struct DecodedCall: Decodable {
        let method: String
        let parameters: AppRequest
    }

    /// Checks that reading without a decoder gives the decoder's result.
    private func expectSame(_ bytes: [UInt8], _ decoder: JSONDecoder) {
        guard let plain = PlainCall(decoding: bytes) else { return }
        let decoded = try? decoder.decode(DecodedCall.self, from: Data(bytes))
        #expect(plain.method == decoded?.method && plain.request == decoded?.parameters, "\(bytes)")
    }

    @Test(
        "a plain call is decoded without a decoder",
        arguments: [
            #"{"method":"a.B","parameters":{"name":"web"}}"#,
            #"{"method":"a.B","parameters":{"name":"web","wait":true}}"#,
            #" { "method" : "a.B" , "parameters" : { "name" : "" , "wait" : false } } "#,
        ])
    func plain(text: String) throws {
        let plain = try #require(PlainCall(decoding: Array(text.utf8)))
        #expect(plain.method == "a.B")
        expectSame(Array(text.utf8), JSONDecoder())
        let call = try VarlinkCall(decoding: Array(text.utf8), with: JSONDecoder())
        #expect(!call.isOneway && !call.wantsMore && !call.wantsUpgrade)
        #expect(try call.parameters(as: AppRequest.self, with: JSONDecoder()) == plain.request)
        #expect(throws: ControlError.self) { try call.parameters(as: EmptyRequest.self, with: JSONDecoder()) }
    }

    @Test(
        "every other call is left to the decoder",
        arguments: [
            #"{"method":"a.B","parameters":{"name":"web"},"oneway":true}"#,
            #"{"method":"a.B","parameters":{"name":"web","wait":null}}"#,
            #"{"method":"a.B","parameters":{"name":"w\u0065b"}}"#,
            #"{"method":"a.B","parameters":{"name":"wéb"}}"#,
            #"{"method":"a.B","parameters":{"name":"web","name":"x"}}"#,
            #"{"method":"a.B","parameters":{"name":"web"}}}"#,
            #"{"method":"a.B","parameters":{"name":"web"}"#,
            #"{"method":"a.B","parameters":{"name":"web}"#,
            #"{"parameters":{"name":"web"},"method":"a.B"}"#,
            #"["method":"a.B","parameters":{"name":"web"}}"#,
            "",
        ])
    func notPlain(text: String) {
        #expect(PlainCall(decoding: Array(text.utf8)) == nil)
    }

    @Test("a name too long for a method is rejected in a plain call too")
    func longPlainMethod() {
        let text = #"{"method":"\#(String(repeating: "m", count: 257))","parameters":{"name":"web"}}"#
        #expect(throws: MessageFault.self) { try VarlinkCall(decoding: Array(text.utf8), with: JSONDecoder()) }
    }

    @Test("a reply written in pieces is complete, whatever the size of the pieces")
    func pieces() throws {
        let apps = (0..<7).map { AppSummary(name: "a\($0)\u{0}/é", state: .running, since: Timestamp(microseconds: 1)) }
        let log = (0..<5).map { LogLine(text: "line \($0)") }
        let reply = DescribeReply(
            app: apps[0], details: AppDetails(allowances: AllowanceSummary(Allowances())), log: log)
        struct Success: Decodable {
            let parameters: DescribeReply
            let error: String?
            let continues: Bool?
        }
        for size in 1...10 {
            var writer = ReplyWriter(reply.body, encoder: JSONEncoder())
            var output = OutputBuffer()
            var turns = 1
            while !writer.write(to: &output, atMost: size) { turns += 1 }
            var bytes = output.takeAll()
            #expect(bytes.removeLast() == 0)
            #expect(!bytes.contains(0))
            let success = try JSONDecoder().decode(Success.self, from: Data(bytes))
            #expect(success.parameters == reply)
            #expect(success.error == nil && success.continues == nil)
            #expect(turns == (8 + size - 1) / size)
        }
    }

    @Test("missing members and removed elements leave no trace")
    func gaps() {
        func text(_ body: ReplyBody, error: String? = nil, continues: Bool = false) -> String {
            var writer = ReplyWriter(body, error: error, continues: continues, encoder: JSONEncoder())
            var output = OutputBuffer()
            while !writer.write(to: &output, atMost: 1) {}
            return String(decoding: output.takeAll().dropLast(), as: UTF8.self)
        }
        #expect(text(.members([])) == #"{"parameters":{}}"#)
        #expect(text(.members([nil, .value("a", 1), nil])) == #"{"parameters":{"a":1}}"#)
        #expect(text(.members([.list("a", [Int]()), .list("b", [1, 2])])) == #"{"parameters":{"a":[],"b":[1,2]}}"#)
        let odd = ReplyBody.Member.list("a", count: 6) { $0 % 2 == 1 ? $0 : nil }
        #expect(text(.members([odd, odd])) == #"{"parameters":{"a":[1,3,5],"a":[1,3,5]}}"#)
        #expect(text(.whole(EmptyRequest()), error: "x.Y") == #"{"error":"x.Y","parameters":{}}"#)
        #expect(text(.whole(EmptyRequest()), continues: true) == #"{"continues":true,"parameters":{}}"#)
    }

    @Test("each error survives the wire")
    func errors() throws {
        let errors: [ControlError] = [
            .noSuchApp("a", suggestion: nil), .noSuchApp("a", suggestion: "b"),
            .notPermitted(.act, user: 1000, owner: 0), .invalidConfiguration([]), .invalidConfiguration([], app: "a"),
            .alreadyRunning("a", pid: 3),
            .notRunning("a"), .unkillable("a", pid: nil), .launchFailed("a", reason: "r"),
            .captureFailed("a", reason: "r"), .shuttingDown, .tooManyConnections(limit: 64),
            .malformedMessage(reason: "r"), .failed(reason: "r"), .methodNotFound("m"), .interfaceNotFound("i"),
            .invalidParameter("p"), .expectedMore, .other(name: "org.example.Odd"),
        ]
        struct Message: Decodable {
            let error: String
            let parameters: ControlError.Parameters?
        }
        for error in errors {
            var writer = ReplyWriter(error.body, error: error.wireName, encoder: JSONEncoder())
            var output = OutputBuffer()
            _ = writer.write(to: &output, atMost: .max)
            let message = try JSONDecoder().decode(Message.self, from: Data(output.takeAll().dropLast()))
            #expect(ControlError(wireName: message.error, parameters: message.parameters) == error)
            #expect(!error.description.isEmpty)
        }
        // Malformed parameters.
        #expect(ControlError(wireName: "\(own).NoSuchApp", parameters: nil) == .other(name: "\(own).NoSuchApp"))
        #expect(ControlError(wireName: "nonsense", parameters: nil) == .other(name: "nonsense"))
        #expect(ControlError(wireName: "", parameters: nil) == .other(name: ""))
    }

    @Test("a bucket admits a burst, then a fixed rate, and never more after a pause")
    func bucket() {
        var bucket = TokenBucket(capacity: 3, perSecond: 10)
        func take(_ milliseconds: Int64) -> Int64? {
            let admitted = bucket.admit(at: Instant(nanoseconds: milliseconds * 1_000_000))
            return admitted ? nil : bucket.earliest().nanoseconds / 1_000_000
        }
        #expect([take(0), take(0), take(0)] == [nil, nil, nil])
        #expect(take(0) == 100)
        #expect(take(50) == 100)
        #expect(take(100) == nil)
        #expect(take(100) == 200)
        #expect([take(10_000), take(10_000), take(10_000)] == [nil, nil, nil])
        #expect(take(10_000) == 10_100)
        var extreme = TokenBucket(capacity: .max, perSecond: .max)
        let both = (0..<2).map { _ in extreme.admit(at: Instant(nanoseconds: 0)) }
        #expect(both == [true, true])
    }

    @Test("output is sent in portions of any size")
    func output() {
        var output = OutputBuffer()
        var taken: [UInt8] = []
        var generator = SeededGenerator(seed: 7)
        var expected: [UInt8] = []
        for round in 0..<200 {
            let new = (0..<Int.random(in: 0...50, using: &generator)).map { UInt8(truncatingIfNeeded: $0 &+ round) }
            output.append(new)
            expected += new
            output.send { bytes in
                let count = Int.random(in: 0...bytes.count, using: &generator)
                taken += bytes[..<count]
                return count
            }
            #expect(output.count == expected.count - taken.count)
        }
        #expect(taken + output.takeAll() == expected)
        #expect(output.isEmpty)
    }

    @Test("pre-encoded metrics arrive like others, whatever they contain")
    func metrics() throws {
        let parts = ["a{b=\"\\\\ \\n\"} 1\n", "\u{0}\u{1f}\u{7f}/\u{2028}é😀\t\r\n", ""]
        func sent(_ reply: MetricsReply, atMost limit: Int) throws -> MetricsReply {
            struct Message: Decodable {
                let parameters: MetricsReply
            }
            var writer = ReplyWriter(reply.body, encoder: JSONEncoder())
            var output = OutputBuffer()
            while !writer.write(to: &output, atMost: limit) {}
            return try JSONDecoder().decode(Message.self, from: Data(output.takeAll().dropLast())).parameters
        }
        for limit in 1...4 {
            #expect(try sent(MetricsReply(parts: parts), atMost: limit).parts == parts)
            #expect(try sent(MetricsReply(encoding: parts.map { Array($0.utf8)[...] }), atMost: limit).parts == parts)
            #expect(try sent(MetricsReply(encoding: []), atMost: limit).parts == [])
        }
    }

    @Test("values survive encoding, and unknown names from later versions are kept")
    func values() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let event = ControlEvent(
            .init(rawValue: "novel"), app: "a", message: "m", time: Timestamp(microseconds: -5), pid: 1, report: "/r",
            sequence: 3)
        let json = String(decoding: try encoder.encode(event), as: UTF8.self)
        #expect(
            json == #"{"app":"a","kind":"novel","message":"m","pid":1,"report":"\/r","sequence":3,"timeUSec":-5}"#)
        #expect(try JSONDecoder().decode(ControlEvent.self, from: Data(json.utf8)) == event)
        let app = AppSummary(
            name: "a", state: AppState(rawValue: "suspended"), since: Timestamp(microseconds: 1), uptime: .seconds(2))
        let copy = try JSONDecoder().decode(AppSummary.self, from: try encoder.encode(app))
        #expect(copy == app)
        #expect(copy.uptime?.duration == .seconds(2))
        #expect(
            [.idle, .launching, .running, .dying].map { AppState($0) } == [.stopped, .launching, .running, .dying])
        #expect(ControlEvent.Kind(.overslept(by: .seconds(1), event: .sceneUpdate)) == .rebased)
    }
}
