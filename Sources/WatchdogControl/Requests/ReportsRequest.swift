// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Reports`.
public struct ReportsRequest: ControlRequest {
    /// Whose reports are wanted; nil for those of every app.
    public var app: String?
    /// How many are wanted; nil for as many as watchdogd likes to give.
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
