// SPDX-License-Identifier: Apache-2.0

/// One incident report: the two parts of an `.ips` file.
///
/// The keys and their meaning are those of Apple's crash reports (bug type 309), so that tools for them can read ours;
/// data without a place in Apple's format is in ``ReportBody/linux``. A report contains no fractions, because some of
/// those tools read only integers.
///
/// ## Topics
/// ### Making one
/// - ``init(of:on:capture:)``
/// ### Files and text
/// - ``ReportCoding``
/// - ``TextRenderer``
/// - ``ReportStore``
public struct Report: Codable, Equatable, Sendable {
    /// The first line of the file.
    public var metadata: ReportMetadata
    /// The rest of the file.
    public var body: ReportBody

    /// Creates a report from its parts.
    public init(metadata: ReportMetadata, body: ReportBody) {
        self.metadata = metadata
        self.body = body
    }
}
