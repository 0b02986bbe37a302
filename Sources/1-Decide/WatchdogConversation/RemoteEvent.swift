// SPDX-License-Identifier: Apache-2.0

/// What `watchdogd run` reports to the program that drives it: one line with a JSON object each, whose only key names
/// the event.
///
/// Times are microseconds. Later versions may add events and fields; a reader ignores what it does not know.
public enum RemoteEvent: Hashable, Sendable {
    /// The protocol's version, which comes first.
    case hello(version: Int)
    /// The process is running.
    case launched(pid: Int32)
    /// The launch is complete, this long after the process executed its program.
    case ready(afterUSec: Int64, source: String)
    /// The app marked a moment of its launch: `firstFrame` or `useful`.
    case marked(mark: String, afterUSec: Int64)
    /// The app is in another state: `launching`, `foreground`, `inactive`, `background`, `suspended`, `terminating`.
    case state(state: String)
    /// The main loop has handled an event.
    case handled(event: String, afterUSec: Int64)
    /// Nothing in the app listens for an event, which is lost.
    case lost(event: String)
    /// A fault begins.
    case injected(fault: String)
    /// A request was refused.
    case refused(request: String, reason: String)
    /// The main loop answered again after a hang of this length.
    case hung(forUSec: Int64)
    /// An allowance was exhausted, and the report is written or failed.
    case incident(RemoteIncident)
    /// What limits this supervisor on this machine, as one sentence.
    case limited(reason: String)
    /// The app has ended; this is the last event.
    case ended(RemoteEnd)

    /// The version of the protocol that this module speaks.
    public static let version = 1
}

/// An exhausted allowance.
public struct RemoteIncident: Codable, Hashable, Sendable {
    /// The termination code: `0x8badf00d`.
    public var code: String
    /// What the app was doing: `scene-create`.
    public var event: String
    /// Whether the app was killed for it.
    public var isEnforced: Bool
    /// The verdict in one sentence; nil if there was no capture.
    public var verdict: String?
    /// The path of the report; nil if none was written.
    public var report: String?
    /// Why there is no report, or not all of it.
    public var failure: String?

    /// Creates an incident.
    public init(
        code: String, event: String, isEnforced: Bool, verdict: String? = nil, report: String? = nil,
        failure: String? = nil
    ) {
        (self.code, self.event, self.isEnforced) = (code, event, isEnforced)
        (self.verdict, self.report, self.failure) = (verdict, report, failure)
    }
}

/// How an app ended.
public struct RemoteEnd: Codable, Hashable, Sendable {
    /// Why: `spawnFailed`, `exited`, `terminated`, `killedOnRequest` or `watchdog`.
    public var cause: String
    /// The exit code of the main process, if it exited.
    public var code: Int32?
    /// The number of the signal that ended the main process, if one did.
    public var signal: Int32?
    /// The end in words: `exited with code 3`.
    public var words: String
    /// The longest time that the main loop took to answer a ping; nil if it answered none.
    public var longestAnswerUSec: Int64?
    /// The path of the report of an unexpected exit.
    public var report: String?
    /// Whether no process of the app remains.
    public var isDeathVerified: Bool

    /// Creates an end.
    public init(
        cause: String, code: Int32?, signal: Int32?, words: String, longestAnswerUSec: Int64?, report: String?,
        isDeathVerified: Bool
    ) {
        (self.cause, self.code, self.signal, self.words) = (cause, code, signal, words)
        (self.longestAnswerUSec, self.report, self.isDeathVerified) = (longestAnswerUSec, report, isDeathVerified)
    }
}
