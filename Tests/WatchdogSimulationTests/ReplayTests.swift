// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogSimulation

@Suite("Simulating allowances")
struct ReplayTests {
    /// A healthy app that is pinged every second, and these events.
    static func trace(_ events: [TraceEvent], until end: Duration = .seconds(60)) -> Trace {
        var all = [
            TraceEvent(at: .zero, .launched), TraceEvent(at: .milliseconds(10), .hello),
            TraceEvent(at: .milliseconds(300), .ready(.channel)),
            TraceEvent(at: .milliseconds(301), .answered(.ping, after: .milliseconds(1))),
        ]
        all += events
        all.append(TraceEvent(at: end, .exited(.exited(code: 0))))
        return Trace(file: "trace", .trace, app: "app", startUSec: 1_700_000_000_000_000, events: all)
    }

    static func spec(_ change: (inout AppSpec) -> Void = { _ in }) -> AppSpec {
        var spec = AppSpec(
            name: "app", allowances: Allowances(launch: .seconds(20), update: .seconds(5), terminate: .seconds(2)))
        change(&spec)
        return spec
    }

    static func incidents(_ events: [TraceEvent], _ spec: AppSpec = spec()) throws -> [Simulation.ComparedIncident] {
        try Simulation([trace(events)], under: spec, margin: 2).incidents
    }

    private static func hang(_ length: Duration, at end: Duration = .seconds(20)) -> TraceEvent {
        TraceEvent(at: end, .answered(.ping, after: length))
    }

    // MARK: - Each allowance, just under and just over

    @Test("An answer within its allowance is not an incident; a later one is", arguments: [(4_999, 0), (5_001, 1)])
    func ping(milliseconds: Int, count: Int) throws {
        let incidents = try Self.incidents([Self.hang(.milliseconds(milliseconds))])
        #expect(incidents.count == count)
        guard let incident = incidents.first else { return }
        #expect(incident.kind == .simulated)
        #expect(incident.event == .sceneUpdate)
        #expect(incident.duration == .milliseconds(milliseconds))
        #expect(incident.at == .milliseconds(20_000 - milliseconds) + .seconds(5))
        #expect(incident.timeUSec == 1_700_000_000_000_000 + incident.at.wholeMicroseconds)
    }

    @Test("A launch within its allowance is not an incident; a longer one is", arguments: [(19_999, 0), (20_001, 1)])
    func launch(milliseconds: Int64, count: Int) throws {
        let ready = Duration.milliseconds(milliseconds)
        let trace = Trace(
            file: "trace", .trace, app: "app",
            events: [
                TraceEvent(at: .zero, .launched), TraceEvent(at: .milliseconds(5), .hello),
                TraceEvent(at: ready, .ready(.channel)),
                TraceEvent(at: .seconds(60), .exited(.exited(code: 0))),
            ])
        let incidents = try Simulation([trace], under: Self.spec(), margin: 2).incidents
        #expect(incidents.map(\.event) == Array(repeating: .sceneCreate, count: count))
        #expect(incidents.allSatisfy { $0.at == .seconds(20) && $0.duration == ready })
    }

    @Test("An exit within its allowance is not an incident; a later one is", arguments: [(1_999, 0), (2_001, 1)])
    func termination(milliseconds: Int64, count: Int) throws {
        let asked = Duration.seconds(60) - .milliseconds(milliseconds)
        let incidents = try Self.incidents([TraceEvent(at: asked, .terminating(isRequested: true))])
        #expect(incidents.map(\.event) == Array(repeating: .processExit, count: count))
    }

    @Test("WATCHDOG=1 within the allowance is not an incident; a later one is", arguments: [(4_999, 0), (5_001, 1)])
    func push(milliseconds: Int64, count: Int) throws {
        let pushes = [Duration.seconds(10), .seconds(10) + .milliseconds(milliseconds)]
        let trace = Trace(
            file: "trace", .trace, app: "app",
            events: [
                TraceEvent(at: .zero, .launched), TraceEvent(at: .seconds(1), .notified),
                TraceEvent(at: .seconds(1), .ready(.notify)),
            ] + pushes.map { TraceEvent(at: $0, .pushed) } + [TraceEvent(at: .seconds(16), .exited(.unknown))])
        let simulation = try Simulation([trace], under: Self.spec(), margin: 2)
        #expect(simulation.incidents.map(\.event) == Array(repeating: .sceneUpdate, count: count))
        #expect(simulation.rows.first { $0.allowance == .update }?.times.count == 1)
    }

    @Test("As many failed probes as the threshold are an incident", arguments: [(2, 0), (3, 1)])
    func probes(failures: Int, count: Int) throws {
        var events: [TraceEvent] = []
        for number in 0..<10 {
            let at = Duration.seconds(1 + 3 * number)
            let isFailure = (4..<4 + failures).contains(number)
            events.append(
                TraceEvent(at: at, .probed(.ended(isFailure ? .failed("refused") : .answered), after: .milliseconds(5)))
            )
        }
        let incidents = try Self.incidents(events, Self.spec { $0.livenessProbe = LivenessProbe(of: "tcp:80") })
        #expect(incidents.map(\.isProbe) == Array(repeating: true, count: count))
    }

    @Test(
        "Background tasks within their time are not an incident; open ones are", arguments: [(29_900, 0), (30_100, 1)])
    func tasks(milliseconds: Int64, count: Int) throws {
        let background = Duration.seconds(10)
        let incidents = try Self.incidents([
            TraceEvent(at: .seconds(1), .joined), TraceEvent(at: .seconds(2), .taskBegan(id: 1, name: "save")),
            TraceEvent(at: background, .requested(.background)),
            TraceEvent(at: background, .answered(.background, after: .zero)),
            TraceEvent(at: background + .milliseconds(milliseconds), .taskEnded(id: 1)),
        ])
        #expect(incidents.map(\.event) == Array(repeating: .backgroundTask, count: count))
    }

    // MARK: - Fairness

    /// The shell reads no evidence in the first eighth of an allowance: 5 s and 7/8 of 5 s.
    @Test("Waiting for a CPU extends an allowance", arguments: [(9_374, 0), (9_376, 1)])
    func starvation(milliseconds: Int64, count: Int) throws {
        let length = Duration.milliseconds(milliseconds)
        let simulation = try Simulation(
            [
                Self.trace([
                    TraceEvent(at: .seconds(20) - length, .used(cpu: .zero, waiting: .zero)),
                    TraceEvent(at: .seconds(20), .used(cpu: .zero, waiting: length)), Self.hang(length),
                ])
            ], under: Self.spec(), margin: 2)
        #expect(simulation.credits == 1)
        #expect(simulation.incidents.count == count)
    }

    @Test("A recorded examination is reused", arguments: [(3_001, 0), (2_999, 1)])
    func examined(milliseconds: Int64, count: Int) throws {
        let hang = Self.hang(.seconds(8))
        let examination = TraceEvent(at: .seconds(17), .examined(waiting: .milliseconds(milliseconds)))
        #expect(try Self.incidents([examination, hang]).count == count)
    }

    @Test(
        "A kill that the replay produces a moment late is the same kill", arguments: [(5_049, "both"), (5_051, "past")])
    func lateReplay(milliseconds: Int64, kind: String) throws {
        let spec = Self.spec { $0.allowances.update = .milliseconds(milliseconds) }
        let incidents = try Simulation([Self.killed(after: .seconds(5))], under: spec, margin: 2).incidents
        #expect(incidents.map(\.kind.rawValue) == [kind])
    }

    @Test("The clock of a stopped app is paused")
    func stopped() throws {
        let stop = [TraceEvent(at: .seconds(12), .stopped), TraceEvent(at: .seconds(19), .continued)]
        #expect(try Self.incidents(stop + [Self.hang(.seconds(9))]) == [])
        #expect(try Self.incidents([Self.hang(.seconds(9))]).count == 1)
    }

    @Test("A silence that watchdogd overslept is judged again")
    func overslept() throws {
        let answer = TraceEvent(at: .seconds(20), .answered(.ping, after: .seconds(6)))
        #expect(try Self.incidents([answer]).count == 1)
        #expect(
            try Self.incidents([TraceEvent(at: .milliseconds(19_200), .overslept(.milliseconds(200))), answer]) == [])
    }

    @Test("An app that requested more time gets it")
    func extended() throws {
        let hang = Self.hang(.seconds(8))
        let request = TraceEvent(at: .seconds(13), .extensionRequested(by: .seconds(10), progress: "half"))
        #expect(try Self.incidents([hang]).count == 1)
        #expect(try Self.incidents([request, hang]) == [])
    }

    // MARK: - The history's own kills

    private static func killed(after allowance: Duration) -> Trace {
        let start = Duration.seconds(10)
        return Trace(
            file: "trace", .trace, app: "app",
            events: Array(trace([]).events.dropLast()) + [
                TraceEvent(
                    at: start + allowance,
                    .incident(.sceneUpdate, allowance: allowance, elapsed: allowance, isKill: true)),
                TraceEvent(at: start + allowance, .unanswered(.ping, after: allowance)),
                TraceEvent(at: start + allowance, .exited(.signaled(signal: 9, coreDumped: false))),
            ])
    }

    @Test("A recorded kill comes earlier, at the same time, or not as far as is known")
    func kills() throws {
        for (allowance, kind) in [(8, Simulation.ComparedIncident.Kind.both), (5, .both), (4, .past)] {
            let incidents = try Simulation(
                [Self.killed(after: .seconds(allowance))], under: Self.spec(), margin: 2
            ).incidents
            #expect(incidents.map(\.kind) == [kind], "killed after \(allowance) s")
        }
        let simulation = try Simulation([Self.killed(after: .seconds(8))], under: Self.spec(), margin: 2)
        let row = try #require(simulation.rows.first { $0.allowance == .update })
        #expect(row.counts.map(\.certain) == [1, 1, 1, 0, 0], "2.5, 5, 7.5, 10 and 15 s")
        #expect(row.counts.map(\.possible) == [0, 0, 0, 1, 1])
        #expect(row.times.cutCount == 1)
        #expect(row.times.percentile(tenths: 999) == nil, "it would have taken longer")
    }

    @Test("A trace without pings judges none, and reports that")
    func withoutPings() throws {
        let trace = Trace(
            file: "trace", .trace, app: "app",
            events: [
                TraceEvent(at: .zero, .launched), TraceEvent(at: .seconds(1), .ready(.probe)),
                TraceEvent(at: .seconds(100), .exited(.unknown)),
            ])
        let simulation = try Simulation([trace], under: Self.spec { $0.readiness = .listening }, margin: 2)
        #expect(simulation.incidents == [])
        #expect(simulation.rows.map(\.allowance) == [.launch])
        #expect(simulation.notes.contains("no ping and no WATCHDOG=1 in the history: Update= is not judged"))
    }

    @Test("A longer ping interval misses a hang that ends before the next ping")
    func interval() throws {
        let pings = (1..<10).map {
            TraceEvent(at: .seconds($0) + .milliseconds(301), .answered(.ping, after: .milliseconds(1)))
        }
        let hang = TraceEvent(at: .milliseconds(16_300), .answered(.ping, after: .seconds(6)))
        #expect(try Self.incidents(pings + [hang]).count == 1)
        #expect(try Self.incidents(pings + [hang], Self.spec { $0.pingInterval = .seconds(12) }) == [])
    }

    // MARK: - Suggestions

    @Test("A suggestion needs a hundred times", arguments: [(99, nil), (100, Duration.seconds(3))])
    func suggestion(times count: Int, expected: Duration?) {
        var times = TakenTimes()
        for _ in 0..<count { times.add(.milliseconds(1_460)) }
        #expect(times.suggestion(margin: 2) == expected)
    }

    @Test("A suggestion is never shorter than a second, and ignores truncated times")
    func limits() {
        var times = TakenTimes()
        for _ in 0..<1_000 { times.add(.milliseconds(2)) }
        #expect(times.suggestion(margin: 2) == .seconds(1))
        #expect(times.percentile(tenths: 500) == .milliseconds(2))
        for _ in 0..<2 { times.add(.seconds(10), isCut: true) }
        #expect(times.suggestion(margin: 2) == nil)
        #expect(times.maximum == .seconds(10))
    }

    @Test("The same history gives the same result")
    func deterministic() throws {
        let trace = Self.trace([Self.hang(.seconds(6)), Self.hang(.seconds(7), at: .seconds(40))])
        let texts = try (0..<3).map { _ in
            SimulationText().text(try Simulation([trace], under: Self.spec(), margin: 2), margin: 2)
        }
        #expect(Set(texts).count == 1)
        #expect(
            texts[0].contains(
                "2 kills would be new:\n  2023-11-14 22:13:39 UTC  no sign of life for 5 s; it came after 6 s"))
        let zoned = SimulationText { _ in LocalZone(utcOffset: 3_600, abbreviation: "CET") }
        let text = zoned.text(try Simulation([trace], under: Self.spec(), margin: 2), margin: 2)
        #expect(text.contains("\n  2023-11-14 23:13:39 CET  no sign of life for 5 s") && !text.contains("UTC"))
        #expect(texts[0].split(separator: "\n").allSatisfy { $0.count <= 79 })
        #expect(texts[0].contains("\nkills with              ×0.5        ×1"))
    }
}
