// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The JSON object of `--json`; times are in microseconds.
public struct SimulationReply: Encodable, Sendable {
    private struct Trace: Encodable {
        let file: String
        let source: String
        let startUSec: Int64?
        let hasAllAnswers: Bool
    }

    private struct Row: Encodable {
        let key: String
        let valueUSec: Int64
        let times: Int
        let cutTimes: Int
        let p50USec: Int64?
        let p999USec: Int64?
        let longestUSec: Int64?
        let suggestedUSec: Int64?
        let suggested: Count?
        let counts: [Count]
    }

    private struct Count: Encodable {
        let factor: Double?
        let incidents: Int
        let possibleIncidents: Int

        init(_ count: Simulation.Count, factor: Double? = nil) {
            self.factor = factor
            incidents = count.certain
            possibleIncidents = count.possible
        }
    }

    private struct ComparedIncident: Encodable {
        let kind: String
        let file: String
        let atUSec: Int64
        let timeUSec: Int64?
        let watched: String
        let allowanceUSec: Int64
        let isProbe: Bool
        let durationUSec: Int64?
    }

    private let app: String
    private let isEnforced: Bool
    private let launches: Int
    private let spanUSec: Int64
    private let credits: Int
    private let margin: Double
    private let traces: [Trace]
    private let allowances: [Row]
    private let incidents: [ComparedIncident]
    private let unjudgedIncidents: Int
    private let unjudged: [String]
    private let notes: [String]

    /// Creates the object; the margin is the one of the simulation.
    public init(_ simulation: Simulation, margin: Double) {
        app = simulation.app
        isEnforced = simulation.isEnforced
        launches = simulation.launches
        spanUSec = simulation.span.wholeMicroseconds
        credits = simulation.credits
        self.margin = margin
        traces = simulation.traces.map {
            Trace(file: $0.file, source: $0.source.rawValue, startUSec: $0.startUSec, hasAllAnswers: $0.hasAllAnswers)
        }
        allowances = simulation.rows.map { row in
            Row(
                key: row.allowance.rawValue, valueUSec: row.value.wholeMicroseconds, times: row.times.count,
                cutTimes: row.times.cutCount, p50USec: row.times.percentile(tenths: 500)?.wholeMicroseconds,
                p999USec: row.times.percentile(tenths: 999)?.wholeMicroseconds,
                longestUSec: row.times.maximum?.wholeMicroseconds,
                suggestedUSec: row.suggestion?.wholeMicroseconds, suggested: row.suggestedCount.map { Count($0) },
                counts: zip(Simulation.factors, row.counts).map { Count($1, factor: $0) })
        }
        incidents = simulation.incidents.map { incident in
            ComparedIncident(
                kind: incident.kind.rawValue, file: incident.file, atUSec: incident.at.wholeMicroseconds,
                timeUSec: incident.timeUSec, watched: incident.event.rawValue,
                allowanceUSec: incident.allowance.wholeMicroseconds, isProbe: incident.isProbe,
                durationUSec: incident.duration?.wholeMicroseconds)
        }
        (unjudgedIncidents, unjudged) = (simulation.unjudgedCount, simulation.unjudged)
        notes = simulation.notes
    }
}
