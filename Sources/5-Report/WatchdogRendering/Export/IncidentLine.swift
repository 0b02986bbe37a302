// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// An incident as one line of JSON with flat members, for databases and log stores.
///
/// Members without a value are left out.
public struct IncidentLine: Encodable, Equatable, Sendable {
    /// When, in UTC: `2026-11-21T00:20:22.12Z`.
    public let time: String
    /// The host.
    public let host: String?
    /// The app's name.
    public let app: String
    /// The app's version.
    public let version: String?
    /// The main process.
    public let pid: Int
    /// What the app was watched for.
    public let event: String
    /// Where the app was, `foreground` or `background`; nil if nobody reported it.
    public let role: String?
    /// The termination code, such as `0x8badf00d`.
    public let code: String?
    /// The verdict's kind.
    public let verdict: String?
    /// The verdict in a few words, the same for all incidents of a signature.
    public let cause: String
    /// The verdict's line.
    public let summary: String
    /// Whose fault it is.
    public let fault: String?
    /// The ID of the signature.
    public let signature: String
    /// The incident's ID.
    public let incident: String
    /// How long the app had not answered, or the allowance had been running, in microseconds.
    public let duration: Int64?
    /// The app's innermost calls.
    public let frames: [String]
    /// How many further incidents are only counted in this report; nil for none.
    public let repeats: Int?

    /// ``time`` as a time; nil if the report's is damaged.
    public let wallTime: WallTime?

    private enum CodingKeys: String, CodingKey {
        case time, host, app, version, pid, event, role, code, verdict, cause, summary, fault, signature, incident
        case duration = "duration_usec"
        case frames, repeats
    }

    /// Summarizes a report.
    ///
    /// - Parameter host: the host, if the place of the report says it.
    public init(of report: Report, host: String?) {
        let explanation = Explanation(of: report)
        let linux = report.body.linux
        let captured = WallTime(report.body.captureTime) ?? WallTime(report.metadata.timestamp)
        wallTime = captured
        time = captured?.utc ?? report.body.captureTime
        self.host = host ?? linux?.hostName
        app = report.metadata.appName
        version = report.metadata.version
        pid = report.body.pid
        event = report.event
        role = report.knownRole
        code = report.body.termination.map { $0.code.hexadecimal() }
        verdict = linux?.verdict.kind.rawValue
        cause = explanation.signature.cause
        summary = explanation.verdict
        fault = explanation.blame?.party.rawValue
        signature = explanation.signature.id
        incident = report.metadata.incidentID
        duration = linux.flatMap { $0.crash == nil ? $0.allowance.elapsedNanoseconds / 1_000 : nil }
        frames = explanation.signature.frames
        repeats = linux?.repeats.flatMap { $0.count > 0 ? $0.count : nil }
    }

    /// The line, with its newline.
    public var text: String { JSONText.line(self) }
}

extension WallTime {
    /// RFC 3339 in UTC.
    fileprivate var utc: String {
        let parts = WallTime(seconds: seconds, nanoseconds: nanoseconds).text(fractionDigits: 2).split(separator: " ")
        return "\(parts[0])T\(parts[1])Z"
    }
}
