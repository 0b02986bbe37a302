// SPDX-License-Identifier: Apache-2.0

/// The past launches of an app that still have a process, a report or saved state.
struct PastLaunches: Hashable, Sendable {
    enum Stage {
        /// The previous watchdogd saved it; nothing else is known.
        case saved
        /// Its process outlived a newer launch and is being ended.
        case ending
        /// Its reports are being written.
        case reporting
        /// Its saved state is being removed.
        case releasing
    }

    private struct Entry: Hashable {
        let launch: LaunchID
        var stage: Stage
    }

    private var entries: [Entry]

    /// Starts with saved launches.
    ///
    /// - Parameter accounted: launches whose ends the previous watchdogd accounted for.
    init(accounted: [LaunchID] = []) {
        entries = accounted.map { Entry(launch: $0, stage: .saved) }
    }

    var isEmpty: Bool { entries.isEmpty }
    /// Launches whose ends are accounted for.
    var accounted: [LaunchID] { entries.filter { $0.stage != .ending }.map(\.launch) }
    var ending: [LaunchID] { entries.filter { $0.stage == .ending }.map(\.launch) }

    func stage(of launch: LaunchID) -> Stage? { entries.first { $0.launch == launch }?.stage }
    func contains(_ launch: LaunchID) -> Bool { stage(of: launch) != nil }

    mutating func put(_ launch: LaunchID, _ stage: Stage) {
        remove(launch)
        entries.append(Entry(launch: launch, stage: stage))
    }

    mutating func remove(_ launch: LaunchID) { entries.removeAll { $0.launch == launch } }

    /// Drops saved launches that were not found.
    mutating func removeUnfound() { entries.removeAll { $0.stage == .saved } }
}
