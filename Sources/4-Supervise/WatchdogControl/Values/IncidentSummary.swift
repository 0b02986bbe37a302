// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The latest incident, crash or failed launch of an app.
public struct IncidentSummary: Hashable, Sendable, Codable {
    /// The kind of incident.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The name in the interface.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An allowance was exhausted.
        public static let watchdog = Kind(rawValue: "watchdog")
        /// The main loop was silent for a while, and then answered.
        public static let hang = Kind(rawValue: "hang")
        /// A signal ended it.
        public static let crash = Kind(rawValue: "crash")
        /// It exited unexpectedly.
        public static let exit = Kind(rawValue: "exit")
        /// It could not be started.
        public static let spawn = Kind(rawValue: "spawn")
    }

    /// The kind of incident.
    public var kind: Kind
    /// The time of the incident.
    public var time: Timestamp
    /// One line: "killed: did not answer within 10 s".
    public var summary: String
    /// The watched event, if an allowance was exhausted: "scene-update".
    public var event: String?
    /// The verdict of the report.
    public var verdict: String?
    /// The report's path.
    public var report: String?

    /// Creates an incident.
    public init(
        kind: Kind, time: Timestamp, summary: String, event: String? = nil, verdict: String? = nil,
        report: String? = nil
    ) {
        self.kind = kind
        self.time = time
        self.summary = summary
        self.event = event
        self.verdict = verdict
        self.report = report
    }

    /// What happened in a word or two for lists: `did not answer`, `hung`, `crash`.
    var what: String {
        guard kind != .hang else { return "hung" }
        return (event.map { WatchdogEvent(rawValue: $0)?.omission ?? $0 } ?? kind.rawValue).singleLine()
    }

    private enum CodingKeys: String, CodingKey {
        case kind
        case time = "timeUSec"
        case summary
        case event
        case verdict
        case report
    }
}
