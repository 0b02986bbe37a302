// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Describe`.
public struct DescribeRequest: ControlRequest {
    /// The app's name.
    public var name: String
    /// The number of the latest log lines to include; the server limits it to what the client may see.
    public var logLines: Int?

    /// Creates the parameters.
    public init(_ name: String, logLines: Int? = nil) {
        self.name = name
        self.logLines = logLines
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    /// The request as JSON if its name needs no escapes; nil otherwise.
    var plainJSON: String? {
        guard AppRequest.isPlain(name) else { return nil }
        return logLines.map { "{\"logLines\":\($0),\"name\":\"\(name)\"}" } ?? "{\"name\":\"\(name)\"}"
    }

    private enum CodingKeys: CodingKey, CaseIterable {
        case name
        case logLines
    }
}

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

/// A line of an app's output.
public struct LogLine: Hashable, Sendable, Codable {
    /// The time of the line; nil if unknown.
    public var time: Timestamp?
    /// The line without its newline.
    public var text: String

    /// Creates a line.
    public init(time: Timestamp? = nil, text: String) {
        self.time = time
        self.text = text
    }

    private enum CodingKeys: String, CodingKey {
        case time = "timeUSec"
        case text
    }
}
