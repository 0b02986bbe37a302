// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogReport

/// What became of taking the stacks.
enum CaptureOutcome: Sendable {
    /// They are taken.
    case taken(Snapshot)
    /// There are only those of the looks before.
    case sampled
    /// They could not be taken, for this reason.
    case failed(String)
}

/// What became of writing a report.
struct ReportOutcome: Sendable {
    /// The verdict in one line, which is there even when the report is not.
    var verdict: Verdict
    /// The report's path, when it was written.
    var path: String?
    /// Why it was not written.
    var failure: String?
    /// Whether there was nothing to write: nothing shows that the process has crashed.
    var isVoid = false
}
