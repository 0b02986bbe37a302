// SPDX-License-Identifier: Apache-2.0

/// The latest thing that went wrong with an app.
public struct IncidentSummary: Hashable, Sendable, Codable {
    /// What kind of incident it was.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The name in the interface.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An allowance was exhausted.
        public static let watchdog = Kind(rawValue: "watchdog")
        /// The main loop did not answer for a while, and then it did.
        public static let hang = Kind(rawValue: "hang")
        /// A signal ended it.
        public static let crash = Kind(rawValue: "crash")
        /// It ended when nobody had asked for it.
        public static let exit = Kind(rawValue: "exit")
        /// It could not be started.
        public static let spawn = Kind(rawValue: "spawn")
    }

    /// What kind of incident it was.
    public var kind: Kind
    /// When it happened.
    public var time: Timestamp
    /// One line: "scene-update exhausted 10 s".
    public var summary: String
    /// What the app was watched for, of a watchdog's incident: "scene-update".
    public var event: String?
    /// What it was doing, in the words of the report.
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

    private enum CodingKeys: String, CodingKey {
        case kind
        case time = "timeUSec"
        case summary
        case event
        case verdict
        case report
    }
}
