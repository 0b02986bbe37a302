// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogHistory
import WatchdogPolicy
import WatchdogReport

@testable import WatchdogSimulation

@Suite("A launch history as a trace")
struct HistoryTraceTests {
    private static func time(_ seconds: Int) -> WallTime { WallTime(seconds: 1_700_000_000 + Int64(seconds)) }

    private static func launch(at seconds: Int) -> HistoryEntry {
        .launch(KeptLaunch(app: "db", time: time(seconds), source: "probe", moments: [.ready: .seconds(1)]))
    }

    private static func kill(at seconds: Int, for event: WatchdogEvent = .sceneUpdate) -> HistoryEntry {
        .termination(
            KeptTermination(
                app: "db", time: time(seconds), reason: .watchdog, isForeground: true, event: event.rawValue))
    }

    private static func silence(at seconds: Int) -> HistoryEntry {
        .hang(KeptHang(app: "db", time: time(seconds), duration: .seconds(10), event: "scene-update", isFatal: true))
    }

    private static func trace(_ entries: [HistoryEntry]) throws -> Trace {
        var builder = TraceBuilder(file: "history.db", .history, app: "db")
        builder.add(entries)
        return try builder.finish()
    }

    private static func text(_ trace: Trace, probed: Bool) throws -> String {
        var spec = AppSpec(name: "db")
        if probed { spec.livenessProbe = LivenessProbe(of: "tcp:1") }
        return SimulationText(columns: 200).text(try Simulation([trace], under: spec, margin: 2), margin: 2)
    }

    @Test("kills for failed probes are listed, but not judged")
    func probes() throws {
        let launches = (0..<5).map { Self.launch(at: $0 * 100) }
        let trace = try Self.trace(launches + (0..<5).map { Self.kill(at: $0 * 100 + 50) })
        #expect(trace.unjudged == [UnjudgedIncident(.probesOrTrigger, isKill: true): 5])
        let text = try Self.text(trace, probed: true)
        #expect(text.contains("\n5 kills for failed probes cannot be judged: the history has no probes\n"))
        #expect(text.contains("\nno other kill in the history, and none with these allowances\n"))
        #expect(!text.contains("no kill"))
        #expect(try Self.text(trace, probed: false).contains("5 kills for failed probes, or because the app asked"))
        let simulation = try Simulation([trace], under: AppSpec(name: "db"), margin: 2)
        #expect(simulation.unjudgedCount == 5)
    }

    @Test("failed probes that were only reported count once, also while the app still does not answer")
    func reported() throws {
        func hang(_ event: String, _ seconds: Int, at end: Int) -> HistoryEntry {
            .hang(
                KeptHang(app: "db", time: Self.time(end), duration: .seconds(seconds), event: event, isFatal: false))
        }
        func text(_ entries: [HistoryEntry]) throws -> String {
            var spec = AppSpec(name: "db")
            spec.livenessProbe = LivenessProbe(of: "tcp:1")
            spec.enforcement = .report
            let simulation = try Simulation([try Self.trace(entries)], under: spec, margin: 2)
            return SimulationText(columns: 200).text(simulation, margin: 2)
        }
        let begun = [Self.launch(at: 0), hang(KeptHang.reportedProbes, 3, at: 50)]
        for entries in [begun, begun + [hang(KeptHang.probes, 22, at: 69)]] {
            let text = try text(entries)
            #expect(text.contains("\n1 incident for failed probes cannot be judged: the history has no probes\n"))
            #expect(text.contains("\nno other incident in the history, and none with these allowances\n"))
            #expect(!text.contains("another way"), "Readiness=auto also means the probe")
        }
        let silent = try text([Self.launch(at: 0), hang(KeptHang.reported, 10, at: 50), Self.hungPing(22, at: 62)])
        #expect(silent.contains("\n1 incident would ") && !silent.contains("no incident"), "\(silent)")
    }

    private static func hungPing(_ seconds: Int, at end: Int) -> HistoryEntry {
        .hang(
            KeptHang(app: "db", time: time(end), duration: .seconds(seconds), event: "scene-update", isFatal: false))
    }

    @Test("a kill for a silent main loop is judged as before, even next to one for probes")
    func silence() throws {
        let trace = try Self.trace([
            Self.launch(at: 0), Self.launch(at: 100), Self.silence(at: 50), Self.kill(at: 51), Self.kill(at: 150),
        ])
        #expect(trace.unjudged == [UnjudgedIncident(.probesOrTrigger, isKill: true): 1])
        let text = try Self.text(trace, probed: true)
        #expect(text.contains("1 kill for failed probes cannot be judged"))
        #expect(text.contains("\n1 kill would stay:\n"))
    }

    @Test(
        "other kills that cannot be judged are counted too",
        arguments: [
            (.processExit, .exit), (.backgroundTask, .background), (.suspension, .lock),
        ] as [(WatchdogEvent, UnjudgedIncident.Kind)])
    func others(_ event: WatchdogEvent, _ kind: UnjudgedIncident.Kind) throws {
        let trace = try Self.trace([Self.launch(at: 0), Self.kill(at: 50, for: event)])
        #expect(trace.unjudged == [UnjudgedIncident(kind, isKill: true): 1])
        #expect(try Self.text(trace, probed: false).contains("\n1 kill "))
    }

    @Test("crash logs about failed probes are counted; those about the main loop are judged")
    func reports() throws {
        var facts = Samples.facts()
        facts.missed = MissedDetails(.probe, of: "tcp:localhost:1", count: 3)
        var builder = TraceBuilder(file: "reports", .report, app: "db")
        let isKnown = [builder.add(Samples.report(facts)), builder.add(Samples.report(facts))]
        #expect(isKnown == [true, true])
        #expect(!builder.isEmpty)
        let trace = try builder.finish()
        #expect(trace.unjudged == [UnjudgedIncident(.probes, isKill: true): 2])
        #expect(try Self.text(trace, probed: false).contains("2 kills for failed probes cannot be judged"))
        var judged = TraceBuilder(file: "reports", .report, app: "db")
        let isJudged = judged.add(Samples.report(Samples.facts()))
        #expect(isJudged)
        #expect(try judged.finish().unjudged.isEmpty)
    }

    @Test("an exit without a kill is not counted as one")
    func exit() throws {
        let end = HistoryEntry.termination(
            KeptTermination(app: "db", time: Self.time(9), reason: .normal, isForeground: true))
        let trace = try Self.trace([Self.launch(at: 0), end])
        #expect(trace.unjudged.isEmpty)
        #expect(try Self.text(trace, probed: true).contains("\nno kill in the history"))
    }
}
