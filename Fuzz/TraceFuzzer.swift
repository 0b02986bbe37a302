// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogSimulation

/// Whatever is given to `watchdogd simulate` instead of a trace, of journal entries or of events: it is refused with its
/// place, or read as what can be written, read again and played.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTrace(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do throws(TraceError) {
        check(try TraceReader.read(bytes, file: "t.jsonl", app: "web"))
    } catch {
        precondition(error.description.hasPrefix("t.jsonl:") && error.description.utf8.count <= 2_000)
        checkLine(error.description)
    }
    return 0
}

private func check(_ trace: Trace) {
    precondition(trace.events.first?.beginsLaunch ?? true)
    precondition(trace.events.allSatisfy { $0.at >= .zero && $0.at <= TraceEvent.longest })
    precondition(zip(trace.events, trace.events.dropFirst()).allSatisfy { $0.at <= $1.at })
    precondition(trace.app.utf8.count <= 64 * 4 && (trace.startUSec ?? 0) >= 0)
    precondition(trace.notes.count <= 110)
    for note in trace.notes { checkLine(note) }

    let header = "{\"watchdogdTrace\":\(Trace.version),\"app\":\(trace.app.jsonString)}"
    let lines = [header] + trace.events.map(\.line)
    // Escapes may make a line too long.
    if lines.allSatisfy({ $0.utf8.count <= TraceReader.lineLimit }) {
        let file = Array((lines.joined(separator: "\n") + "\n").utf8)
        guard let again = try? TraceReader.read(file, file: "again", app: "web") else {
            preconditionFailure("what was written is not readable")
        }
        // The words of events tell of less than the microseconds of a trace.
        precondition(trace.source == .events || again.events == trace.events)
        precondition(again.events.map(\.line) == trace.events.map(\.line) && again.app == trace.app)
    }
    // Longer ones would take too long here.
    guard let last = trace.events.last?.at, last <= .seconds(600), trace.events.count <= 200 else { return }
    for spec in specs {
        guard let simulation = try? Simulation([trace], under: spec, margin: 1.5) else { continue }
        precondition(simulation.launches <= trace.events.count && simulation.span <= last)
        precondition(simulation.incidents.allSatisfy { $0.at >= .zero })
        let text = SimulationText(columns: 79).text(simulation, margin: 1.5)
        for line in text.split(separator: "\n") { checkLine(String(line)) }
        precondition((try? JSONEncoder().encode(SimulationReply(simulation, margin: 1.5))) != nil)
    }
}

private let specs = {
    var plain = AppSpec(
        name: "web", allowances: Allowances(launch: .seconds(20), update: .seconds(5), terminate: .seconds(2)))
    plain.readiness = .automatic
    var probed = plain
    probed.livenessProbe = LivenessProbe(
        of: "tcp:127.0.0.1:80", interval: .seconds(10), timeout: .seconds(3), threshold: 2)
    probed.lifecycle.launchesInBackground = true
    return [plain, probed]
}()

private func checkLine(_ text: String) { precondition(text.singleLine() == text) }
