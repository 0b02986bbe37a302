// SPDX-License-Identifier: Apache-2.0

extension Application {
    /// Why a task cannot count as part of the launch.
    public enum ExtendedLaunchError: Error, Hashable, Sendable, CustomStringConvertible {
        /// There are as many as ``Application/extendedLaunchLimit`` already.
        case tooMany
        /// The launch is over, and so are all tasks that extended it.
        case tooLate
        /// A task of this name has begun before.
        case duplicate(String)
        /// No task of this name is going on.
        case unknown(String)

        /// What was wrong, for people.
        public var description: String {
            switch self {
            case .tooMany: "a launch is extended by at most \(Application.extendedLaunchLimit) tasks"
            case .tooLate:
                "the launch is over: its first extension begins before that, later ones while another goes on"
            case .duplicate(let name): "the launch has been extended by '\(name)' before"
            case .unknown(let name): "the launch is not extended by '\(name)' now"
            }
        }
    }
}
