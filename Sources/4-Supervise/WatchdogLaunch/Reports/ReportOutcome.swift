// SPDX-License-Identifier: Apache-2.0

package import WatchdogRendering
package import WatchdogReport
package import WatchdogVerdict

/// A report as a journal entry carries it.
package enum ReportData: Hashable, Sendable {
    /// The whole `.ips` file.
    case file([UInt8])
    /// It has this many bytes, more than an entry carries.
    case tooLarge(Int)

    init(_ file: [UInt8]) { self = file.count <= ReportEntryField.dataLimit ? .file(file) : .tooLarge(file.count) }
}

/// The outcome of writing a report.
package struct ReportOutcome: Sendable {
    /// The verdict, which exists even if the report does not.
    package var verdict: Verdict
    /// The report's path, if it was written.
    package var path: String?
    /// How many incidents without a report of their own it counts, this one included; nil if this incident has its own.
    var repeats: Int?
    /// Whose fault it is; nil if there is no report that could tell.
    package var fault: Blame.Party?
    /// The id of its incident; nil if there is none.
    package var incident: IncidentID?
    /// The signature of its fault.
    var signature: String?
    /// The beginning of the program's build ID; nil if it is unknown.
    var build: String?
    /// Where the app was, `foreground` or `background`; nil if it reported neither.
    package var visibility: String?
    /// Whether the store could not write it.
    package var isUnwritten = false
    /// Why it was not written.
    package var failure: String?
    /// The short explanation of the report; nil if there is none.
    package var explanation: Explanation?
    /// The report's file for the journal; nil if there is no new report.
    package var data: ReportData?
    /// The report, if it was printed on standard error and not written.
    package var printed: Report?
    /// Whether there was nothing to write because there is no evidence of a crash.
    package var isVoid = false

    /// Who does not move, and why; nil if the verdict says as much.
    var culprit: String? { explanation?.culprit }

    /// What happened in one line: who does not move and why, then the kernel's terms.
    package var line: String { explanation?.line ?? verdict.line }

    /// Takes over what the report says since it has names.
    package mutating func take(_ named: NamedReport) {
        explanation = named.explanation ?? explanation
        verdict = named.verdict ?? verdict
    }

    /// The outcome as it is kept once it has been announced.
    package var withoutData: ReportOutcome {
        var outcome = self
        outcome.data = nil
        return outcome
    }
}
