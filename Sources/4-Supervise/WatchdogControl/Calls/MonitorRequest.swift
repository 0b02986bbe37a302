// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Monitor`.
public struct MonitorRequest: ControlRequest {
    /// The apps whose events to send, in addition to events about all apps; nil for every app.
    public var apps: [String]?
    /// The number of past events to send first.
    public var history: Int?
    /// Whether to send new events after the past ones; nil means true.
    public var follows: Bool?

    /// Creates the parameters.
    public init(apps: [String]? = nil, history: Int? = nil, follows: Bool? = nil) {
        self.apps = apps
        self.history = history
        self.follows = follows
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case apps
        case history
        case follows = "follow"
    }
}

/// One of the replies to `Monitor`.
///
/// The first reply has no event: it confirms that no later event is missed.
public struct MonitorReply: ControlReply {
    /// The event; nil in the first and the last reply.
    public var event: ControlEvent?
    /// The number of events, of all apps, that were dropped since the last reply because the client did not read.
    public var missed: Int?
    /// True in the first reply if the client may see only the kinds of events and their apps; otherwise nil.
    public var isWithheld: Bool?

    /// Creates a reply.
    public init(event: ControlEvent? = nil, missed: Int? = nil, isWithheld: Bool? = nil) {
        self.event = event
        self.missed = missed
        self.isWithheld = isWithheld
    }
}
