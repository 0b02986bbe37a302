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
