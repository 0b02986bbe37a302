// SPDX-License-Identifier: Apache-2.0

import WatchdogWire

/// The tasks that extend what is measured as the launch.
struct ExtendedLaunch {
    private var open: Set<String> = []
    private var seen: Set<String> = []
    var isLaunched = false

    mutating func begin(_ name: String) throws(Application.ExtendedLaunchError) {
        guard !isLaunched || !open.isEmpty else { throw .tooLate }
        guard seen.count < Application.extendedLaunchLimit else { throw .tooMany }
        guard seen.insert(name).inserted else { throw .duplicate(name) }
        open.insert(name)
    }

    mutating func end(_ name: String) throws(Application.ExtendedLaunchError) {
        guard open.remove(name) != nil else { throw .unknown(name) }
    }
}

extension Application {
    /// The most tasks that extend a launch.
    public nonisolated static let extendedLaunchLimit = 16

    /// Lets what is measured as the launch go on until a task has ended, such as loading what the first screen shows.
    ///
    /// It changes the measurement, not the allowance. The first one begins before the launch is over, in a launch callback at the
    /// latest; the others while another goes on.
    ///
    /// - Parameter task: A name, of which the first 64 bytes are sent; each is used once.
    /// - Throws: ``ExtendedLaunchError`` when the task cannot count.
    public func extendLaunch(_ task: String) throws(ExtendedLaunchError) {
        try extendedLaunch.begin(task)
        surroundings.say { $0.launchTasksBegun.append(task) }
    }

    /// Ends a task that has extended the launch.
    ///
    /// - Throws: ``ExtendedLaunchError/unknown(_:)`` when there is none of this name.
    public func finishExtendedLaunch(_ task: String) throws(ExtendedLaunchError) {
        try extendedLaunch.end(task)
        surroundings.say { $0.launchTasksEnded.append(task) }
    }
}
