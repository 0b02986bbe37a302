// SPDX-License-Identifier: Apache-2.0

/// What `Describe` answers with.
public struct DescribeReply: ControlReply, PiecewiseReply {
    /// What `List` tells of it.
    public var app: AppSummary
    /// The rest.
    public var details: AppDetails
    /// Its latest lines, oldest first.
    public var log: [LogLine]
    /// True when the caller may not see the log; filled in by the server.
    public var isLogWithheld: Bool

    /// Creates a description.
    public init(app: AppSummary, details: AppDetails, log: [LogLine] = [], isLogWithheld: Bool = false) {
        self.app = app
        self.details = details
        self.log = log
        self.isLogWithheld = isLogWithheld
    }

    var body: ReplyBody {
        .members([
            .value("app", app), .value("details", details), .list("log", log), .value("isLogWithheld", isLogWithheld),
        ])
    }
}
