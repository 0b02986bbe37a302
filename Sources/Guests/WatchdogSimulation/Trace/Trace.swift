// SPDX-License-Identifier: Apache-2.0

/// The events of one app over a period, from one file.
public struct Trace: Hashable, Sendable {
    /// The kind of the file.
    public enum Source: String, Hashable, Sendable {
        /// `watchdogd run --trace`.
        case trace
        /// `journalctl -o json`.
        case journal
        /// `watchdogd events --json`.
        case events
        /// Crash logs.
        case report
        /// The launch history.
        case history
    }

    /// The version of the format that this module reads and writes.
    public static let version = 1

    /// The file, as the user named it.
    public var file: String
    /// The kind of the file.
    public var source: Source
    /// The app's name.
    public var app: String
    /// Microseconds from 1970 in UTC to the start of the trace; nil if unknown.
    public var startUSec: Int64?
    /// The events in order of time.
    public var events: [TraceEvent]
    /// Whether the trace has every answer of the main loop; otherwise only the slow ones.
    public var hasAllAnswers: Bool
    /// The numbers of incidents whose preceding events are missing.
    public var unjudged: [UnjudgedIncident: Int] = [:]
    /// Notes about omissions, as sentences without a period.
    public var notes: [String] = []

    /// Creates a trace; the events must be in order of time.
    public init(
        file: String, _ source: Source, app: String, startUSec: Int64? = nil, events: [TraceEvent] = [],
        hasAllAnswers: Bool = true
    ) {
        (self.file, self.source, self.app, self.startUSec) = (file, source, app, startUSec)
        (self.events, self.hasAllAnswers) = (events, hasAllAnswers)
    }
}

/// The file is not a trace, or is damaged.
public struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `FILE:LINE: ` and one sentence without a period.
    public let description: String

    /// Creates an error about a file, or about one of its lines.
    public init(_ message: String, in file: String, line: Int? = nil) {
        description = "\(file):\(line.map { "\($0):" } ?? "") \(message)"
    }
}
