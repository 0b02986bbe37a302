// SPDX-License-Identifier: Apache-2.0

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
