// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// Limits the reports of hangs that ended by themselves to five per app in five minutes.
struct HangReportLimit {
    private static let count = 5
    private static let period = Duration.seconds(300)

    private var reported: [Instant] = []

    /// Whether another report may be written now; counts it if so.
    mutating func admit(at now: Instant) -> Bool {
        reported.removeAll { now - $0 > Self.period }
        guard reported.count < Self.count else { return false }
        reported.append(now)
        return true
    }
}
