// SPDX-License-Identifier: Apache-2.0

public import WatchdogReport

/// The formats in which a report can be exported.
public enum ReportFormat: String, CaseIterable, Sendable {
    /// Apple's classic text format.
    case crash
    /// The two-part file, as stored.
    case ips
    /// Metadata and body as one JSON object.
    case json
    /// A self-contained page for a browser.
    case html
    /// MetricKit's diagnostics in JSON.
    case metrickit

    /// Renders a report.
    ///
    /// - Throws: ``ReportCodingError`` with code ``ReportCodingError/Code/tooLarge``.
    public func render(_ report: Report) throws(ReportCodingError) -> String {
        switch self {
        case .crash: TextRenderer.render(report)
        case .ips: String(decoding: try ReportCoding.encode(report), as: UTF8.self)
        case .json: JSONText.of(report)
        case .html: HTMLRenderer.render(report)
        case .metrickit: MetricKitPayload(report).json
        }
    }
}
