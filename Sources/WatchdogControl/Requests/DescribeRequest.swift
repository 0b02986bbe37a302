// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Describe`.
public struct DescribeRequest: ControlRequest {
    /// Which app.
    public var name: String
    /// How many of the latest log lines are wanted; the server asks the handler for no more than the caller may see.
    public var logLines: Int?

    /// Creates the parameters.
    public init(_ name: String, logLines: Int? = nil) {
        self.name = name
        self.logLines = logLines
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: CodingKey, CaseIterable {
        case name
        case logLines
    }
}
