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
    /// The maximum number of tasks that can extend a launch.
    public nonisolated static let extendedLaunchLimit = 16

    /// Extends the measured launch until a task has ended, such as loading what the first screen shows.
    ///
    /// It changes the measurement, not the allowance. Begin the first task before the launch is complete, at the latest in a launch
    /// callback, and any other while one is still open.
    ///
    /// - Parameter task: A name that is not used twice in a launch; its first 64 bytes are sent.
    /// - Throws: ``ExtendedLaunchError`` if the task cannot extend the launch.
    public func extendLaunch(_ task: String) throws(ExtendedLaunchError) {
        try extendedLaunch.begin(task)
        surroundings.say { $0.launchTasksBegun.append(task) }
    }

    /// Ends a task that extends the launch.
    ///
    /// - Throws: ``ExtendedLaunchError/unknown(_:)`` if no task has this name.
    public func finishExtendedLaunch(_ task: String) throws(ExtendedLaunchError) {
        try extendedLaunch.end(task)
        surroundings.say { $0.launchTasksEnded.append(task) }
    }
}

extension Application {
    /// The reason why a task cannot extend the launch.
    public enum ExtendedLaunchError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The launch already has ``Application/extendedLaunchLimit`` tasks.
        case tooMany
        /// The launch is complete; only an open task can extend it.
        case tooLate
        /// This launch has already had a task of this name, which may have ended.
        case duplicate(String)
        /// No task of this name is open.
        case unknown(String)

        /// An explanation for people.
        public var description: String {
            switch self {
            case .tooMany: "at most \(Application.extendedLaunchLimit) tasks can extend a launch"
            case .tooLate:
                "the launch is over: begin its first extension before that, and others while one is still open"
            case .duplicate(let name): "a task named '\(name)' has already extended the launch"
            case .unknown(let name): "no open task named '\(name)' extends the launch"
            }
        }
    }
}
