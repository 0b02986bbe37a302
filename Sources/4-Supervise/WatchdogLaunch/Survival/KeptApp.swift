// SPDX-License-Identifier: Apache-2.0

package import WatchdogControl
package import WatchdogPolicy
import WatchdogReport

/// What a file keeps of an app for the next watchdogd, apart from its launches.
///
/// The coding keys are the format. Version 2 stored `forget` for an app whose file was gone.
package struct KeptApp: Codable {
    /// Files of a newer version are reported, not read.
    package static let format: UInt32 = 3

    private var stage: SavedApp.Stage
    private var afterEnd: String
    private var restarts: RestartMachine.Saved
    private var requestedRestarts: Int
    /// The launches in ``SavedApp/accounted``.
    private var accounted: [String]
    private var counted: String?
    package let lastIncident: IncidentSummary?
    package let lastExit: String?

    private enum CodingKeys: String, CodingKey {
        case stage
        case afterEnd = "wish"
        case restarts, requestedRestarts
        case accounted = "settled"
        case counted, lastIncident, lastExit
    }

    package init(_ saved: SavedApp, lastIncident: IncidentSummary?, lastExit: String?) {
        stage = saved.stage
        afterEnd = saved.afterEnd.rawValue
        restarts = saved.restarts
        requestedRestarts = saved.requestedRestarts
        accounted = saved.accounted.map(\.description)
        counted = saved.counted?.description
        self.lastIncident = lastIncident
        self.lastExit = lastExit
    }

    /// What the app's machine resumes from.
    package var saved: SavedApp {
        SavedApp(
            stage: stage, afterEnd: SavedApp.AfterEnd(rawValue: afterEnd) ?? .relaunch, restarts: restarts,
            requestedRestarts: requestedRestarts, accounted: accounted.map { LaunchID($0) },
            counted: counted.map { LaunchID($0) })
    }
}
