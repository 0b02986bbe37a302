// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
import WatchdogPolicy

/// The text of `watchdogd simulate`: the effect of the app's allowances, the app's times, and the effect of other
/// lengths.
public struct SimulationText: Sendable {
    /// The maximum number of incidents of a kind to list.
    private static let incidentLimit = 10

    /// The terminal's width.
    public var columns: Int
    /// Whether non-ASCII characters may be used.
    public var isUnicode: Bool
    /// Returns the reader's time zone at a time.
    public var zone: @Sendable (WallTime) -> LocalZone

    /// Creates a style.
    public init(
        columns: Int = 79, isUnicode: Bool = true, zone: @escaping @Sendable (WallTime) -> LocalZone = { _ in .utc }
    ) {
        self.columns = max(60, columns)
        self.isUnicode = isUnicode
        self.zone = zone
    }

    /// The text of a simulation, with a final newline.
    public func text(_ simulation: Simulation, margin: Double) -> String {
        var lines = heading(simulation)
        lines += incidents(simulation)
        if !simulation.rows.isEmpty {
            lines += [""] + times(simulation, margin) + [""] + counts(simulation)
        }
        if !simulation.notes.isEmpty { lines.append("") }
        for note in simulation.notes { lines += wrapped(note, indent: "  ") }
        let text = lines.map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n") + "\n"
        return isUnicode ? text : String(text.map { $0.isASCII ? $0 : $0 == "×" ? "x" : $0 == "µ" ? "u" : "?" })
    }

    // MARK: - What would have happened

    private func heading(_ simulation: Simulation) -> [String] {
        let launches = simulation.launches.counted("launch", "launches")
        let files = simulation.traces.count.counted("file")
        let span = simulation.span > .zero ? " in \(simulation.span.brief)" : ""
        var line = "\(simulation.app): \(launches)\(span), from \(files)"
        if simulation.credits > 0 {
            line += "; \(simulation.credits.counted("allowance")) extended for waiting for a CPU"
        }
        return wrapped(line, indent: "  ")
    }

    private func incidents(_ simulation: Simulation) -> [String] {
        let noun = simulation.isEnforced ? "kill" : "incident"
        let all = simulation.incidents
        var lines = simulation.unjudged.flatMap { wrapped($0, indent: "  ") }
        guard !all.isEmpty else {
            return lines + ["no \(lines.isEmpty ? "" : "other ")\(noun) in the history, and none with these allowances"]
        }
        for (kind, words) in [
            (Simulation.ComparedIncident.Kind.simulated, "would be new"), (.past, "would come later, if at all"),
            (.both, "would stay"),
        ] {
            let some = all.filter { $0.kind == kind }
            guard !some.isEmpty else { continue }
            lines.append("\(some.count.counted(noun)) \(words):")
            for incident in some.prefix(Self.incidentLimit) {
                lines += wrapped("  \(time(of: incident))  \(self.words(for: incident))", indent: "      ")
            }
            if some.count > Self.incidentLimit { lines.append("  and \(some.count - Self.incidentLimit) more") }
        }
        return lines
    }

    private func time(of incident: Simulation.ComparedIncident) -> String {
        guard let time = incident.timeUSec else { return "+\(incident.at.short)" }
        let wall = WallTime(seconds: time / 1_000_000)
        return zone(wall).text(wall)
    }

    private func words(for incident: Simulation.ComparedIncident) -> String {
        let span = incident.allowance.short
        let really = incident.duration?.short
        let end = incident.kind == .past ? "the history ends there" : "it never"
        switch incident.event {
        case .processLaunch, .sceneCreate:
            return "not ready after \(span); " + (really.map { "it was after \($0)" } ?? ending(end, "was"))
        case .sceneUpdate where incident.isProbe: return "its liveness probes failed"
        case .sceneUpdate:
            return "no sign of life for \(span); " + (really.map { "it came after \($0)" } ?? ending(end, "came"))
        case .processExit:
            return "not gone \(span) after the request; " + (really.map { "it was after \($0)" } ?? ending(end, "was"))
        case .backgroundTask: return "background tasks open after \(span)"
        case .suspension: return "suspended with a locked file"
        }
    }

    private func ending(_ end: String, _ verb: String) -> String { end == "it never" ? "it never \(verb)" : end }

    // MARK: - Tables

    private func times(_ simulation: Simulation, _ margin: Double) -> [String] {
        var lines = [line("time taken", ["now", "times", "p50", "p99.9", "longest", "suggested"])]
        for row in simulation.rows {
            let times = row.times
            let cells = [
                row.value.short, "\(times.count)", times.percentile(tenths: 500)?.short ?? "-",
                times.count == 0 ? "-" : times.percentile(tenths: 999)?.short ?? "unknown",
                times.maximum.map {
                    (times.cutCount > 0 && times.percentile(tenths: 1_000) == nil ? ">" : "") + $0.short
                }
                    ?? "-",
                row.suggestion?.short ?? "-",
            ]
            lines.append(line(row.allowance.rawValue + "=", cells))
        }
        let text = TimeSpan.text(TakenTimes.shortest)
        lines += wrapped(
            "suggested: p99.9 × \(Self.factor(margin)), at least \(text), from \(TakenTimes.fewest) times or more",
            indent: "  ")
        return lines
    }

    private func counts(_ simulation: Simulation) -> [String] {
        let noun = simulation.isEnforced ? "kills" : "incidents"
        let titles = Simulation.factors.map { "×\(Self.factor($0))" }
        var lines = [line("\(noun) with", titles + ["suggested"])]
        for row in simulation.rows {
            lines.append(
                line(
                    row.allowance.rawValue + "=",
                    row.counts.map(self.words) + [row.suggestedCount.map(self.words) ?? "-"]))
        }
        if simulation.rows.contains(where: { $0.counts.contains { $0.possible > 0 } }) {
            lines += wrapped(
                "0-1: at least 0, at most 1, because the app was killed before that allowance was over", indent: "  ")
        }
        return lines
    }

    private func words(_ count: Simulation.Count) -> String {
        count.possible == 0 ? "\(count.certain)" : "\(count.certain)-\(count.certain + count.possible)"
    }

    private func line(_ label: String, _ cells: [String]) -> String {
        label.alignedLeft(18) + cells.map { " " + $0.alignedRight(9) }.joined()
    }

    private static func factor(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        if hundredths % 100 == 0 { return "\(hundredths / 100)" }
        return hundredths % 10 == 0
            ? "\(hundredths / 100).\(hundredths / 10 % 10)" : "\(hundredths / 100).\(Int64(hundredths % 100).padded(2))"
    }

    private func wrapped(_ text: String, indent: String) -> [String] { text.wrapped(columns: columns, indent: indent) }
}

extension Duration {
    /// Three digits, without zeros at the end: `1.25 s`, `312 ms`, `26 h 10 min`.
    fileprivate var short: String { TimeSpan.text(rounded(digits: 3)) }
}
