// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
package import WatchdogConfiguration
import WatchdogReportStore

/// The kept stacks of a report.
public enum ReportCore {
    /// The most bytes of their file.
    public static let limit = Snapshot.coreLimit

    /// What a report says of stacks that are not kept whole; nil if all are.
    package static func note(on missing: [(thread: Int32, bytes: Int)]) -> String? {
        guard !missing.isEmpty else { return nil }
        let parts = missing.prefix(3).map { "\(max(1, $0.bytes >> 10)) KiB of thread \($0.thread)" }
        let rest = missing.count > 3 ? " and of \(missing.count - 3) more" : ""
        return "Debuggers do not get to the outer ends of kept stacks of which parts were not kept: "
            + parts.joined(separator: ", ") + "\(rest)."
    }
}

extension ReportStore {
    /// Sets how long an app's reports are kept, and whether with its stacks.
    package func keep(reportsOf app: String, as settings: WatchdogSettings) {
        keep(reportsOf: app, for: settings.reportAge)
        keep(stacksOf: app, settings.keepsStacks)
    }
}
