// SPDX-License-Identifier: Apache-2.0

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
