// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogConfiguration
import WatchdogReportStore

/// The kept stacks of a report.
public enum ReportCore {
    /// The most bytes of their file.
    public static let limit = Snapshot.coreLimit
}

extension ReportStore {
    /// Sets how long an app's reports are kept, and whether with its stacks.
    func keep(reportsOf app: String, as settings: WatchdogSettings) {
        keep(reportsOf: app, for: settings.reportAge)
        keep(stacksOf: app, settings.keepsStacks)
    }
}
