// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogSimulation

@Suite("Other kinds of histories")
struct OtherSourceTests {
    private static func read(_ lines: [String]) throws -> Trace {
        try TraceReader.read(Array(lines.map { $0 + "\n" }.joined().utf8), file: "history", app: "redis")
    }

    private static func entry(_ seconds: Int, _ kind: String, _ fields: String = "", app: String = "redis") -> String {
        "{\"__REALTIME_TIMESTAMP\":\"\(1_700_000_000 + seconds)000000\",\"WATCHDOGD_APP\":\"\(app)\","
            + "\"WATCHDOGD_KIND\":\"\(kind)\"\(fields.isEmpty ? "" : "," + fields)}"
    }

    @Test("The journal's entries contain launches, hangs and kills")
    func journal() throws {
        let trace = try Self.read([
            Self.entry(0, "launched"), Self.entry(0, "launched", app: "web"),
            Self.entry(1, "ready", "\"WATCHDOGD_SOURCE\":\"notify\",\"WATCHDOGD_DURATION_USEC\":\"1000000\""),
            Self.entry(20, "hung", "\"WATCHDOGD_DURATION_USEC\":\"6000000\""),
            Self.entry(60, "exited", "\"EXIT_CODE\":\"killed\",\"EXIT_STATUS\":\"9\""),
            Self.entry(
                62, "killed",
                "\"WATCHDOGD_EVENT\":\"scene-update\",\"WATCHDOGD_ALLOWANCE_USEC\":\"10000000\",\"MESSAGE\":[1,2]"),
            Self.entry(63, "launched"),
        ])
        #expect(trace.source == .journal)
        #expect(trace.startUSec == 1_700_000_000_000_000)
        #expect(
            trace.events.map(\.kind) == [
                .launched, .hello, .ready(.notify), .answered(.ping, after: .seconds(6)),
                .unanswered(.ping, after: .seconds(10)),
                .incident(.sceneUpdate, allowance: .seconds(10), elapsed: .seconds(10), isKill: true),
                .exited(.signaled(signal: 9, coreDumped: false)), .launched,
            ])
        var spec = AppSpec(name: "redis")
        #expect(try Simulation([trace], under: spec, margin: 2).incidents.map(\.kind) == [.both])
        spec.allowances.update = .seconds(5)
        #expect(try Simulation([trace], under: spec, margin: 2).incidents.map(\.kind) == [.simulated, .both])
        spec.allowances.update = .seconds(12)
        #expect(try Simulation([trace], under: spec, margin: 2).incidents.map(\.kind) == [.past])
    }

    @Test(
        "Times that no clock shows are omitted, whatever they are added to",
        arguments: ["-9223372036854775808", "9223372036854775807", "0", "-1"])
    func impossibleTimes(time: String) throws {
        func entry(_ kind: String, _ fields: String) -> String {
            "{\"__REALTIME_TIMESTAMP\":\"\(time)\",\"WATCHDOGD_APP\":\"redis\",\"WATCHDOGD_KIND\":\"\(kind)\",\(fields)}"
        }
        let trace = try Self.read([
            Self.entry(0, "launched"), entry("credited", "\"WATCHDOGD_DURATION_USEC\":\"1000000\""),
            entry("reported", "\"WATCHDOGD_EVENT\":\"scene-update\",\"WATCHDOGD_ALLOWANCE_USEC\":\"9000000\""),
            Self.entry(9, "exited", "\"EXIT_CODE\":\"exited\",\"EXIT_STATUS\":\"0\""),
        ])
        #expect(trace.events.map(\.kind).first == .launched)
        #expect(trace.events.map(\.at).max() == .seconds(9))
    }

    private static func event(_ seconds: Int, _ kind: String, _ message: String) -> String {
        "{\"event\":{\"app\":\"redis\",\"kind\":\"\(kind)\",\"message\":\"\(message)\",\"sequence\":1,"
            + "\"timeUSec\":\(1_700_000_000 + seconds)000000}}"
    }

    @Test("The daemon's events yield the same from their sentences")
    func events() throws {
        let trace = try Self.read([
            Self.event(0, "launched", "launched, pid 12"), Self.event(1, "ready", "ready after 312 ms (channel)"),
            Self.event(9, "hung", "hung for 1.25 s"),
            Self.event(30, "credited", "waited 2.00 s for a CPU; its update allowance is extended by as much"),
            Self.event(40, "exhausted", "scene-update exhausted 10.00 s"),
            Self.event(41, "exited", "was killed by SIGKILL"),
            "{\"missed\":3}",
        ])
        #expect(trace.source == .events)
        #expect(
            trace.events.map(\.kind) == [
                .launched, .hello, .ready(.channel), .answered(.ping, after: .milliseconds(1_250)),
                .used(cpu: .zero, waiting: .zero), .used(cpu: .zero, waiting: .seconds(2)),
                .unanswered(.ping, after: .seconds(10)),
                .incident(.sceneUpdate, allowance: .seconds(10), elapsed: .seconds(10), isKill: true),
                .exited(.unknown),
            ])
        #expect(trace.notes == ["history: 3 events were lost before line 7"])
    }

    @Test("A file with many losses has a limited number of notes")
    func losses() throws {
        let lines = (1...1_000).map { "{\"missed\":\($0)}" } + [Self.event(0, "launched", "launched, pid 12")]
        #expect(try Self.read(lines).notes.count == 100)
    }

    @Test("A file without the app names the apps that it contains")
    func others() {
        #expect(throws: TraceError("has nothing about redis; it is about web", in: "history")) {
            try Self.read([Self.entry(0, "launched", app: "web")])
        }
    }

    @Test("Slow answers alone yield no suggestion")
    func slowAnswers() throws {
        let hangs = (1...200).map { Self.entry($0 * 10, "hung", "\"WATCHDOGD_DURATION_USEC\":\"300000\"") }
        let trace = try Self.read([Self.entry(0, "launched"), Self.entry(1, "ready")] + hangs)
        let simulation = try Simulation([trace], under: AppSpec(name: "redis"), margin: 2)
        let row = try #require(simulation.rows.first { $0.allowance == .update })
        #expect(row.times.count == 200)
        #expect(row.suggestion == nil)
        #expect(simulation.notes.contains { $0.contains("only slow answers") })
    }
}
