// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogControl
import WatchdogMetrics
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Metrics of a supervisor")
struct MetricsTests {
    private let kernel = ScriptedEffects()

    @Test("each answered ping is measured once, with its latency")
    func pings() {
        var meter = AppMeter()
        kernel.answerPings(after: .milliseconds(5))
        let supervisor = kernel.supervise(AppSpec(name: "App"))
        supervisor.onMeasurement = { meter.measured($0) }
        supervisor.launch()
        kernel.say("HELLO=1\n")
        kernel.say("READY=1\n")
        kernel.run(for: .seconds(600))
        #expect(supervisor.machine.pings.count > 500)
        #expect(meter.pings.count == supervisor.machine.pings.count)
        #expect(meter.pings.sum == .milliseconds(5) * meter.pings.count)
    }

    @Test("a problem with the file is reported once, and so are a different one and its end")
    func problems() {
        var note = PeriodicFile.ProblemNote(what: "metrics")
        #expect(note.sentence(for: nil, "/f") == nil)
        #expect(note.sentence(for: "disk full", "/f") == "cannot write metrics: disk full")
        for _ in 0..<10 { #expect(note.sentence(for: "disk full", "/f") == nil) }
        #expect(note.sentence(for: "no folder", "/f") == "cannot write metrics: no folder")
        #expect(note.sentence(for: nil, "/f") == "metrics are written again: /f")
        #expect(note.sentence(for: nil, "/f") == nil)
    }

    @Test("a run is launching before its process exists, and then has the state of its machine")
    func stateOfRun() {
        let supervisor = kernel.supervise(AppSpec(name: "App"))
        #expect(AppState(ofRun: supervisor.machine) == .launching)
        supervisor.launch()
        kernel.say("HELLO=1\n")
        #expect(AppState(ofRun: supervisor.machine) == .launching)
        kernel.say("READY=1\n")
        #expect(AppState(ofRun: supervisor.machine) == .running)
    }

    @Test("every state of the interface has a series")
    func states() {
        #expect(AppReading.State.allCases.map(\.rawValue).sorted() == AppState.allCases.map(\.rawValue).sorted())
    }
}
