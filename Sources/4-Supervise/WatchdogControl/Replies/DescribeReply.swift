// SPDX-License-Identifier: Apache-2.0

/// The reply to `Describe`.
public struct DescribeReply: ControlReply, PiecewiseReply {
    /// The app's entry in `List`.
    public var app: AppSummary
    /// The other details; nil if the client may not see them.
    public var details: AppDetails?
    /// Its latest log lines, oldest first.
    public var log: [LogLine]
    /// Whether the client may not see the log; set by the server.
    public var isLogWithheld: Bool
    /// True if the client may see only the app's name and state; otherwise nil.
    public var isWithheld: Bool?

    /// Creates a description.
    public init(
        app: AppSummary, details: AppDetails?, log: [LogLine] = [], isLogWithheld: Bool = false,
        isWithheld: Bool? = nil
    ) {
        self.app = app
        self.details = details
        self.log = log
        self.isLogWithheld = isLogWithheld
        self.isWithheld = isWithheld
    }

    var body: ReplyBody {
        .members([
            .value("app", app), details.map { .value("details", $0) }, .list("log", log),
            .value("isLogWithheld", isLogWithheld), isWithheld.map { .value("isWithheld", $0) },
        ])
    }
}
