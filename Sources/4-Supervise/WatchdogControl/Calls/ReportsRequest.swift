// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Reports`.
public struct ReportsRequest: ControlRequest {
    /// The app whose reports to list; nil for every app.
    public var app: String?
    /// The maximum number of reports; nil for watchdogd's own limit.
    public var limit: Int?

    /// Creates the parameters.
    public init(app: String? = nil, limit: Int? = nil) {
        self.app = app
        self.limit = limit
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: CodingKey, CaseIterable {
        case app
        case limit
    }
}

/// The reply to `Reports`.
public struct ReportsReply: ControlReply, PiecewiseReply {
    /// The reports, newest first.
    public var reports: [ReportSummary]

    /// Creates a list.
    public init(reports: [ReportSummary]) {
        self.reports = reports
    }

    var body: ReplyBody { .members([.list("reports", reports)]) }
}
