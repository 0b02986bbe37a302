// SPDX-License-Identifier: Apache-2.0

/// One incident, as the organizer counts it; every text in it may be hostile.
public struct OrganizerIncident: Equatable, Sendable {
    /// Where the app was.
    public enum Role: String, Sendable, CaseIterable {
        /// In the foreground.
        case foreground
        /// In the background.
        case background
        /// It was not reported.
        case unknown

        /// The role in a report's words; `unknown` for any other word.
        public init(word: String) { self = Role(rawValue: word.lowercased()) ?? .unknown }
    }

    /// When, in seconds since 1970 in UTC.
    public var time: Int64
    /// The host; empty if unknown.
    public var host: String
    /// The app's name.
    public var app: String
    /// The app's version; empty if unknown.
    public var version: String
    /// What the app was watched for; `hang`, `crash` and `capture` name other kinds of reports.
    public var event: String
    /// Where the app was.
    public var role: Role
    /// The verdict in a few words.
    public var cause: String
    /// The ID of the signature.
    public var signature: String
    /// The incident's ID; empty if it has none, and then it is never taken for a repetition.
    public var incident: String
    /// The app's innermost calls.
    public var frames: [String]
    /// How many incidents this one stands for, itself included.
    public var count: Int

    /// Creates an incident.
    public init(
        time: Int64, host: String = "", app: String, version: String = "", event: String, role: Role = .unknown,
        cause: String = "", signature: String, incident: String = "", frames: [String] = [], count: Int = 1
    ) {
        self.time = time
        self.host = host
        self.app = app
        self.version = version
        self.event = event
        self.role = role
        self.cause = cause
        self.signature = signature
        self.incident = incident
        self.frames = frames
        self.count = count
    }

    /// Whether the main loop did not answer: recovered (`hang`) or judged (`scene-update`).
    var isHang: Bool { event == "hang" || event == "scene-update" }

    /// Whether the incident ended the process, or was meant to: all but hangs that recovered, and requested captures.
    var isTermination: Bool { event != "hang" && event != "capture" }
}

/// What a history contains about an app, as the organizer counts it.
///
/// Times are seconds since 1970 in UTC.
public enum OrganizerEvent: Equatable, Sendable {
    /// A process was launched: when, and how long until it was ready; nil if it never was.
    case launch(time: Int64, version: String, host: String, duration: Duration?)
    /// A launch that failed, or a resume: it shows only that the history continues.
    case other(time: Int64)
    /// The main loop did not answer for a while.
    case hang(time: Int64, version: String, duration: Duration)
    /// A process ended: why, what watchdogd killed it for, and where the app was.
    case termination(time: Int64, version: String, reason: String, event: String?, isForeground: Bool)

    /// When it happened.
    public var time: Int64 {
        switch self {
        case .launch(let time, _, _, _), .other(let time), .hang(let time, _, _),
            .termination(let time, _, _, _, _):
            time
        }
    }
}
