// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogPolicy
import WatchdogReport

/// What is kept of an app beyond its launches.
struct KeptApp: Codable {
    enum Stage: Codable {
        case stopped
        case preparing
        case live
        case waiting(until: Instant)
        case failed
        case unkillable
    }

    var stage: Stage
    var wish: DaemonApp.Wish
    var restarts: RestartMachine
    var requestedRestarts: Int
    /// Launches whose ends were accounted for, as long as something of them is kept.
    var settled: [IncidentID]
    /// The launch that was counted last.
    var counted: IncidentID?
    var lastIncident: IncidentSummary?
    var lastExit: String?
}
