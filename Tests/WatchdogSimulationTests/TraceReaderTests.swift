// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogSimulation

@Suite("Reading traces")
struct TraceReaderTests {
    private static let header = "{\"watchdogdTrace\":1,\"app\":\"app\",\"timeUSec\":1700000000000000}"
    private static let launched = "{\"atUSec\":0,\"event\":\"launched\"}"

    private static func read(_ lines: String..., ending: String = "\n") throws(TraceError) -> Trace {
        try TraceReader.read(Array((lines.joined(separator: "\n") + ending).utf8), file: "t.jsonl", app: "app")
    }

    private static func message(_ lines: String...) -> String {
        do throws(TraceError) {
            _ = try TraceReader.read(Array((lines.joined(separator: "\n") + "\n").utf8), file: "t.jsonl", app: "app")
            return "no error"
        } catch {
            return error.description
        }
    }

    private static let everyKind: [TraceEvent.Kind] = [
        .launched, .hello, .joined, .notified, .ready(.notify), .answered(.ping, after: .microseconds(812)),
        .answered(.event, after: .seconds(1)), .unanswered(.background, after: .zero), .pushed,
        .pushIntervalChanged(.seconds(3)), .triggered, .extensionRequested(by: .seconds(9), progress: "\"half\"\n"),
        .extensionRequested(by: .seconds(9), progress: nil), .probed(.ended(.answered), after: .milliseconds(1)),
        .probed(.ended(.failed("refused")), after: .zero), .probed(.ended(.impossible("no descriptor")), after: .zero),
        .probed(.noAnswer, after: .seconds(3)), .stopped, .continued, .paused(.frozen), .paused(.traced(by: 1)),
        .paused(.dumpingCore), .paused(.stopped), .resumed, .overslept(.milliseconds(150)),
        .machineResumed(.seconds(3_600)), .used(cpu: .seconds(1), waiting: .milliseconds(7)),
        .examined(waiting: .milliseconds(4)), .requested(.event(kind: "open", payload: "")), .requested(.suspend),
        .taskBegan(id: 7, name: "s\u{e4}ve \u{1F4BE}"),
        // Marks combine with preceding characters, even with the end of an escape, and some with following ones.
        .taskBegan(id: 8, name: "\u{301}\n\u{301}\u{0}\u{302}\"\u{303}\\\u{304}\u{600}\\\u{600}\n"),
        .taskEnded(id: 7), .terminating(isRequested: false),
        .incident(.processExit, allowance: .seconds(5), elapsed: .seconds(6), isKill: false),
        .exited(.signaled(signal: 9, coreDumped: false)), .exited(.exited(code: 3)), .exited(.unknown), .adopted,
    ]

    @Test("Every event survives writing and reading")
    func roundTrip() throws {
        let events = Self.everyKind.enumerated().map { TraceEvent(at: .milliseconds($0), $1) }
        let text = ([Self.header] + events.map(\.line)).joined(separator: "\n") + "\n"
        let trace = try TraceReader.read(Array(text.utf8), file: "t.jsonl", app: "app")
        #expect(trace.events == events)
        #expect(trace.startUSec == 1_700_000_000_000_000)
    }

    @Test("Unknown members are ignored, and so are the events of a later version")
    func later() throws {
        let trace = try Self.read(
            Self.header, "{\"event\":\"launched\",\"why\":[1,{\"a\":2}],\"atUSec\":0,\"more\":{\"b\":null}}",
            "{\"atUSec\":1,\"event\":\"quantumFluctuation\"}")
        #expect(trace.events.map(\.kind) == [.launched])
        #expect(trace.notes == ["t.jsonl: 1 lines have events that this version does not know"])
    }

    @Test("An incomplete last line is omitted")
    func cut() throws {
        let trace = try Self.read(Self.header, Self.launched, "{\"atUSec\":12,\"ev", ending: "")
        #expect(trace.events.count == 1)
        #expect(trace.notes == ["t.jsonl:3: the last line is incomplete and left out"])
        #expect(try Self.read(Self.header, Self.launched, ending: "").events.count == 1)
    }

    @Test(
        "A damaged line is named, with the problem",
        arguments: [
            ("{\"atUSec\":1}", "has no \"event\""),
            ("{\"atUSec\":1,\"event\":\"lanched\"}", "has the unknown event \"lanched\"; did you mean \"launched\"?"),
            (
                "{\"atUSec\":-1,\"event\":\"pushed\"}",
                "needs a whole number of microseconds as \"atUSec\", at most 400 days"
            ),
            (
                "{\"atUSec\":1.5,\"event\":\"pushed\"}",
                "needs a whole number of microseconds as \"atUSec\", at most 400 days"
            ),
            ("{\"event\":\"pushed\"}", "has no \"atUSec\""),
            (
                "{\"atUSec\":1,\"event\":\"answered\",\"to\":\"pong\",\"afterUSec\":1}",
                "has an unknown \"to\": \"pong\""
            ),
            ("{\"atUSec\":1,\"event\":\"pushed\"", "ends within an object"),
            ("{\"atUSec\" 1}", "is damaged at column 11"),
            ("hello", "is not a JSON object"),
            ("{\"atUSec\":1,\"event\":\"pushed\"} x", "has text after the JSON object, at column 31"),
        ])
    func damaged(line: String, words: String) {
        #expect(Self.message(Self.header, Self.launched, line) == "t.jsonl:3: \(words)")
    }

    @Test(
        "The longest time is 400 days",
        arguments: [("34560000000000", true), ("34560000000001", false), ("99999999999999999999999", false)])
    func longest(digits: String, isValid: Bool) {
        let message = Self.message(Self.header, Self.launched, "{\"atUSec\":\(digits),\"event\":\"pushed\"}")
        #expect((message == "no error") == isValid, "\(message)")
    }

    @Test("Lines are in order of time, and begin with a launch")
    func order() {
        let late = "{\"atUSec\":5,\"event\":\"pushed\"}"
        #expect(Self.message(Self.header, Self.launched, late, late) == "no error")
        #expect(Self.message(Self.header, Self.launched, late, Self.launched).hasPrefix("t.jsonl:4: is earlier than"))
        #expect(Self.message(Self.header, late).hasPrefix("t.jsonl:2: does not begin with \"launched\""))
    }

    @Test("A file that is not a trace is rejected, and so is a later format")
    func foreign() {
        #expect(Self.message("").hasPrefix("t.jsonl: is empty"))
        #expect(Self.message("{\"a\":1}").hasPrefix("t.jsonl:1: is not a trace: use a file of 'watchdogd run --trace'"))
        #expect(Self.message("root:x:0:0:root").hasPrefix("t.jsonl:1: is not a trace"))
        #expect(Self.message("{\"watchdogdTrace\":2}").contains("was written by a later watchdogd (format 2"))
    }

    @Test("A line of 64 KiB is read; a longer one is rejected")
    func lineLimit() {
        let frame = "{\"atUSec\":0,\"event\":\"launched\",\"x\":\"\"}"
        for (extra, isValid) in [(0, true), (1, false)] {
            let filler = String(repeating: "x", count: TraceReader.lineLimit - frame.utf8.count + extra)
            let message = Self.message(Self.header, "{\"atUSec\":0,\"event\":\"launched\",\"x\":\"\(filler)\"}")
            #expect(message == (isValid ? "no error" : "t.jsonl:2: is longer than 64 KiB"))
        }
    }

    @Test("Any bytes are read or rejected, and a read trace can be simulated")
    func noise() {
        var generator = SeededGenerator(seed: 7)
        let text = Array(
            ([Self.header, Self.launched] + Self.everyKind.map { TraceEvent(at: .zero, $0).line }).joined(
                separator: "\n"
            ).utf8)
        for _ in 0..<300 {
            var bytes = text
            for _ in 0..<1 + generator.below(4) {
                bytes[generator.below(bytes.count)] = UInt8(truncatingIfNeeded: generator.next())
            }
            guard let trace = try? TraceReader.read(bytes, file: "t", app: "app") else { continue }
            _ = try? Simulation([trace], under: AppSpec(name: "app"), margin: 2)
        }
    }

    @Test("A few events over 400 days are replayed immediately")
    func sparse() throws {
        let trace = Trace(
            file: "t", .trace, app: "app",
            events: [
                TraceEvent(at: .zero, .launched), TraceEvent(at: .zero, .hello),
                TraceEvent(at: .zero, .ready(.channel)),
                TraceEvent(at: .seconds(34_000_000), .answered(.ping, after: .seconds(11))),
                TraceEvent(at: .seconds(34_560_000), .exited(.unknown)),
            ])
        var spec = AppSpec(name: "app")
        spec.pingInterval = .milliseconds(1)
        #expect(try Simulation([trace], under: spec, margin: 2).incidents.count == 1)
    }
}
