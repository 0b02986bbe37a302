// SPDX-License-Identifier: Apache-2.0

/// One incident for the organizer; all its texts are untrusted.
public struct OrganizerIncident: Equatable, Sendable {
    /// The app's role.
    public enum Role: String, Sendable, CaseIterable {
        /// In the foreground.
        case foreground
        /// In the background.
        case background
        /// Not reported.
        case unknown

        /// Creates a role from a report's word; `unknown` for any other word.
        public init(word: String) { self = Role(rawValue: word.lowercased()) ?? .unknown }
    }

    /// The time, in seconds since 1970 in UTC.
    public var time: Int64
    /// The host; empty if unknown.
    public var host: String
    /// The app's name.
    public var app: String
    /// The app's version; empty if unknown.
    public var version: String
    /// The watched event; `hang`, `crash` and `capture` name other kinds of reports.
    public var event: String
    /// The app's role.
    public var role: Role
    /// The verdict in a few words.
    public var cause: String
    /// The ID of the signature.
    public var signature: String
    /// The incident's ID; empty without one, and then the incident is never treated as a repetition.
    public var incident: String
    /// The app's innermost calls.
    public var frames: [String]
    /// The number of incidents that this one represents, including itself.
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

/// An event of an app in a history, for the organizer.
///
/// Times are seconds since 1970 in UTC.
public enum OrganizerEvent: Equatable, Sendable {
    /// A process was launched; the duration is the time until it was ready, nil if it never was.
    case launch(time: Int64, version: String, host: String, duration: Duration?)
    /// A failed launch or a resume, which only shows that the history continues.
    case other(time: Int64)
    /// The main loop did not answer for a while.
    case hang(time: Int64, version: String, duration: Duration)
    /// A process ended, with the cause, the watched event of a kill, and the app's role.
    case termination(time: Int64, version: String, reason: String, event: String?, isForeground: Bool)

    /// The time of the event.
    public var time: Int64 {
        switch self {
        case .launch(let time, _, _, _), .other(let time), .hang(let time, _, _),
            .termination(let time, _, _, _, _):
            time
        }
    }
}
