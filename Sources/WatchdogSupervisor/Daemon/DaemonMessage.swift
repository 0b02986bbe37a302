// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl

/// What was read beside the loop, because a disk was involved; the number says for whom.
enum DaemonMessage: Sendable {
    /// The configuration directory.
    case configurationRead(Int, Result<ConfigurationListing, ConfigurationReadError>)
    /// The store of reports.
    case reportsListed(Int, Result<[ReportSummary], ReadFailure>)
    /// The last lines of an app.
    case logRead(Int, [LogLine])

    /// Why something could not be read.
    struct ReadFailure: Error, Sendable {
        let description: String
    }
}
