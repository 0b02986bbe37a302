// SPDX-License-Identifier: Apache-2.0

/// A report in a list.
public struct ReportSummary: Hashable, Sendable, Codable {
    /// The incident's identifier.
    public var incident: String?
    /// The app's name.
    public var app: String
    /// The ID of the main process at that time.
    public var pid: Int32?
    /// The time of the report.
    public var time: Timestamp
    /// The watched event.
    public var event: String?
    /// The verdict.
    public var verdict: String?
    /// The report's path.
    public var path: String
    /// The report's size in bytes.
    public var size: Int64

    /// Creates a summary.
    public init(
        incident: String? = nil, app: String, pid: Int32? = nil, time: Timestamp, event: String? = nil,
        verdict: String? = nil, path: String, size: Int64
    ) {
        self.incident = incident
        self.app = app
        self.pid = pid
        self.time = time
        self.event = event
        self.verdict = verdict
        self.path = path
        self.size = size
    }

    private enum CodingKeys: String, CodingKey {
        case incident
        case app
        case pid
        case time = "timeUSec"
        case event
        case verdict
        case path
        case size = "sizeBytes"
    }
}
