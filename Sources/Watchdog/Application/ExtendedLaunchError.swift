// SPDX-License-Identifier: Apache-2.0

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
