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
