// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WatchdogConversation

@Suite("Messages between a driver and a run")
struct RemoteTests {
    @Test(
        "A request survives encoding and decoding",
        arguments: [
            RemoteRequest.foreground, .background, .suspend, .resume, .terminate, .kill,
            .event(kind: "url", payload: ""), .fault("stop 2s"),
            .event(kind: "url", payload: "https://example.org/a b  c"),
        ])
    func requests(_ request: RemoteRequest) throws {
        #expect(try RemoteRequest(parsing: Array(request.line.utf8)) == request)
    }

    @Test(
        "An invalid request is rejected with a sentence",
        arguments: [
            ("", "'' is not a request"), ("foregroud", "use one of background,"), ("kill now", "'kill' is not"),
            ("event", "event lacks a kind"), ("event  x", "event lacks a kind"), ("back\u{7}", "printable UTF-8"),
            ("event " + String(repeating: "k", count: 65), "at most 64 bytes of kind"),
            ("event k " + String(repeating: "p", count: 2_049), "2048 of payload"),
            (String(repeating: "x", count: 4_097), "at most 4096 bytes"),
        ])
    func badRequests(_ line: String, _ message: String) {
        let error = #expect(throws: RemoteRequest.SyntaxError.self) {
            try RemoteRequest(parsing: Array(line.utf8))
        }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test("An event is an object whose only key names it")
    func events() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let events: [(RemoteEvent, String)] = [
            (.hello(version: 1), #"{"hello":{"version":1}}"#),
            (.ready(afterUSec: 1_234, source: "channel"), #"{"ready":{"afterUSec":1234,"source":"channel"}}"#),
            (.lost(event: "url"), #"{"lost":{"event":"url"}}"#),
            (.injected(fault: "stop 2s at ready"), #"{"injected":{"fault":"stop 2s at ready"}}"#),
            (
                .ended(
                    RemoteEnd(
                        cause: "watchdog", code: nil, signal: 9, words: "was killed", longestAnswerUSec: nil,
                        report: nil, isDeathVerified: true)),
                #"{"ended":{"cause":"watchdog","isDeathVerified":true,"signal":9,"words":"was killed"}}"#
            ),
        ]
        for (event, text) in events {
            #expect(String(decoding: try encoder.encode(event), as: UTF8.self) == text)
            #expect(try JSONDecoder().decode(RemoteEvent.self, from: Data(text.utf8)) == event)
        }
    }
}
