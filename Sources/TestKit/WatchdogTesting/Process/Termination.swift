// SPDX-License-Identifier: Apache-2.0

internal import WatchdogConversation
public import WatchdogPolicy

/// The end of an app.
public struct Termination: Sendable, CustomStringConvertible {
    /// The cause of an end.
    public enum Cause: Hashable, Sendable {
        /// It ended by itself.
        case exited
        /// It was requested to exit, and did so within its allowance.
        case terminated
        /// The test killed it.
        case killedOnRequest
        /// The watchdog killed it.
        case watchdog
        /// It could not be executed.
        case notLaunched
    }

    /// The cause of the end.
    public let cause: Cause
    /// The exit code, if the main process exited.
    public let exitCode: Int32?
    /// The signal that ended the main process, if one did.
    public let signal: Int32?
    /// The exhausted allowances, in order; if ``cause`` is ``Cause/watchdog``, the last one ended the app.
    public let incidents: [AppIncident]
    /// The longest time between a ping and its answer, or the end if it was not answered; nil without pings.
    public let longestHang: Duration?
    /// Whether no process of the app remains.
    public let isDeathVerified: Bool
    /// The end in words: `HangMain exited with code 3`.
    public let description: String
    private let reportPath: String?
    /// Keeps the report files while this value exists.
    private let scratch: ScratchDirectory

    init(_ end: RemoteEnd, _ incidents: [RemoteIncident], in scratch: ScratchDirectory) {
        self.scratch = scratch
        switch end.cause {
        case "watchdog": cause = .watchdog
        case "terminated": cause = .terminated
        case "killedOnRequest": cause = .killedOnRequest
        case "spawnFailed": cause = .notLaunched
        default: cause = .exited
        }
        (exitCode, signal, isDeathVerified) = (end.code, end.signal, end.isDeathVerified)
        self.incidents = incidents.map(AppIncident.init)
        longestHang = end.longestAnswerUSec.map { .microseconds($0) }
        description = end.words
        reportPath = end.report ?? incidents.last?.report
    }

    /// The incident for which the watchdog killed the app; nil if it ended otherwise.
    public var kill: AppIncident? { cause == .watchdog ? incidents.last : nil }

    /// The crash log of the kill, or of the crash.
    ///
    /// - Throws: ``TestSetupError`` if there is none or it cannot be read.
    public var report: CrashLog {
        get throws {
            guard let reportPath else { throw TestSetupError("there is no crash log: \(description)") }
            return try CrashLog(reading: reportPath)
        }
    }
}

/// An exhausted allowance.
public struct AppIncident: Sendable {
    /// The termination code; nil for one that this version does not know.
    public let code: TerminationCode?
    /// The watched event; nil for one that this version does not know.
    public let event: WatchdogEvent?
    /// Whether the app was killed for it.
    public let isEnforced: Bool
    /// The verdict in one sentence; nil if the process could not be examined.
    public let verdict: String?
    /// The path of the crash log.
    public let reportPath: String?

    init(_ incident: RemoteIncident) {
        code = TerminationCode.all.first { $0.hexadecimal == incident.code }
        event = WatchdogEvent(rawValue: incident.event)
        isEnforced = incident.isEnforced
        verdict = incident.verdict
        reportPath = incident.report
    }
}
