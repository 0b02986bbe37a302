// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The JSON object of `watchdogd launches --json`; times are in microseconds since 1970, durations in microseconds.
public struct LaunchesReply: Encodable, Sendable {
    private struct Bucket: Encodable {
        let fromUSec: Int64
        let toUSec: Int64
        let count: Int
    }

    private struct Group: Encodable {
        let label: String
        let count: Int
        let notReady: Int
        let assumed: Int
        let p50USec: Int64?
        let p90USec: Int64?
        let p99USec: Int64?
        let firstUSec: Int64
        let lastUSec: Int64
        let histogram: [Bucket]

        init(_ group: LaunchGroup) {
            label = group.label
            count = group.count
            notReady = group.failures
            assumed = group.assumed
            p50USec = group.durations.quantile(0.5)?.wholeMicroseconds
            p90USec = group.durations.quantile(0.9)?.wholeMicroseconds
            p99USec = group.durations.quantile(0.99)?.wholeMicroseconds
            firstUSec = group.first.microseconds
            lastUSec = group.last.microseconds
            histogram = group.durations.ranges.map {
                Bucket(fromUSec: $0.from.wholeMicroseconds, toUSec: $0.to.wholeMicroseconds, count: $0.count)
            }
        }
    }

    /// A phase, or the time until a moment.
    private struct Part: Encodable {
        let name: String
        let count: Int
        let p50USec: Int64?
        let p90USec: Int64?

        init(_ summary: PhaseSummary) { self.init(summary.phase.rawValue, summary.durations) }

        /// Moments have hyphens in JSON, like phases.
        init(_ summary: MomentSummary) {
            self.init(summary.moment.rawValue.replacing("_", with: "-"), summary.durations)
        }

        private init(_ name: String, _ durations: DurationBuckets) {
            self.name = name
            count = durations.count
            p50USec = durations.quantile(0.5)?.wholeMicroseconds
            p90USec = durations.quantile(0.9)?.wholeMicroseconds
        }
    }

    private struct Version: Encodable {
        let label: String
        let phases: [Part]
    }

    private let app: String?
    private let by: String
    private let groups: [Group]
    private let phases: [Part]?
    private let versionPhases: [Version]?
    private let moments: [Part]?
    private let firstVersion: ProgramVersion?
    private let lastVersion: ProgramVersion?

    /// Creates the reply for a table; groups keep their order.
    public init(_ table: LaunchSummaryTable) {
        app = table.app
        by = table.key.rawValue
        groups = table.groups.map(Group.init)
        phases = table.app == nil ? nil : table.phases.map { Part($0) }
        versionPhases =
            table.versionPhases.isEmpty
            ? nil : table.versionPhases.map { Version(label: $0.label, phases: $0.phases.map { Part($0) }) }
        moments = table.app == nil ? nil : table.moments.map { Part($0) }
        firstVersion = table.firstVersion
        lastVersion = table.lastVersion
    }
}
