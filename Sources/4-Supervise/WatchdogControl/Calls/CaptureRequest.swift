// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Capture`.
public struct CaptureRequest: ControlRequest {
    /// The app's name.
    public var name: String

    /// Creates the parameters.
    public init(_ name: String) {
        self.name = name
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: CodingKey, CaseIterable {
        case name
    }
}

/// The reply to `Capture`.
public struct CaptureReply: ControlReply {
    /// The report's path.
    public var report: String
    /// The verdict of the report.
    public var verdict: String?

    /// Creates a reply.
    public init(report: String, verdict: String? = nil) {
        self.report = report
        self.verdict = verdict
    }
}
