// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import WatchdogControl

@Suite("Plain requests and replies")
struct PlainRequestTests {
    @Test("a plain request equals the encoder's output", arguments: [true, false])
    func plainRequest(waits: Bool) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for code in UInt8(1)..<0x80 {
            let request = AppRequest("a\(UnicodeScalar(code))/b", waits: waits)
            let encoded = String(decoding: try encoder.encode(request), as: UTF8.self)
            if let plain = request.plainJSON { #expect(plain == encoded) }
            let needsEscape = code < 0x20 || code == 0x7f || [0x22, 0x5c].contains(code)
            #expect((request.plainJSON == nil) == needsEscape)
        }
        #expect(AppRequest("ü", waits: waits).plainJSON == nil)
    }

    @Test("a plain description request equals the encoder's output", arguments: [nil, 0, 10])
    func plainDescription(lines: Int?) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let request = DescribeRequest("a/b", logLines: lines)
        #expect(request.plainJSON == String(decoding: try encoder.encode(request), as: UTF8.self))
        #expect(DescribeRequest("ü", logLines: lines).plainJSON == nil)
    }

    private func decoded<Reply: ControlReply>(_ text: String, as type: Reply.Type) throws -> Reply? {
        try JSONDecoder().decode([String: Reply].self, from: Data(text.utf8))["parameters"]
    }

    @Test(
        "a plain reply equals the decoder's result",
        arguments: [
            #"{"parameters":{}}"#, #"{"parameters":{"pid":1}}"#, #"{"parameters":{"pid":2147483647}}"#,
            #"{"parameters":{"ended":"exited with code 0"}}"#, #"{"parameters":{"ended":"","pid":7}}"#,
            #" { "parameters" : { "pid" : 12 } } "#,
        ])
    func plainLaunchReply(text: String) throws {
        let plain = try #require(PlainReply(decoding: Array(text.utf8)))
        let expected = try decoded(text, as: LaunchReply.self)
        #expect(plain.reply(as: LaunchReply.self) == expected)
        #expect(plain.reply(as: TerminateReply.self) == nil)
        #expect(plain.reply(as: ListReply.self) == nil)
    }

    @Test("a plain reply to a termination equals the decoder's result", arguments: [true, false])
    func plainTerminateReply(isGone: Bool) throws {
        let text = #"{"parameters":{"isGone":\#(isGone)}}"#
        let plain = try #require(PlainReply(decoding: Array(text.utf8)))
        let expected = try decoded(text, as: TerminateReply.self)
        #expect(plain.reply(as: TerminateReply.self) == expected)
        #expect(plain.reply(as: LaunchReply.self) == nil)
    }

    @Test(
        "every other reply is left to the decoder",
        arguments: [
            #"{"error":"org.watchdogd.Supervisor.NoSuchApp","parameters":{"name":"web"}}"#,
            #"{"parameters":{"pid":1},"continues":true}"#, #"{"parameters":{"pid":1,"pid":2}}"#,
            #"{"parameters":{"pid":null}}"#, #"{"parameters":{"pid":0}}"#, #"{"parameters":{"pid":-1}}"#,
            #"{"parameters":{"pid":1.0}}"#, #"{"parameters":{"pid":2147483648}}"#, #"{"parameters":{"pid":01}}"#,
            #"{"parameters":{"pid":"1"}}"#, #"{"parameters":{"other":1}}"#, #"{"parameters":{"ended":"\u0065"}}"#,
            #"{"parameters":{"pid":1,}}"#, #"{"parameters":{"pid":1}"#, #"{"parameters":{"pid":1}}}"#,
            #"{"parameters":[]}"#, "{}", "",
        ])
    func otherReply(text: String) {
        #expect(PlainReply(decoding: Array(text.utf8)) == nil)
    }
}
