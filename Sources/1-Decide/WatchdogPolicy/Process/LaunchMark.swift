// SPDX-License-Identifier: Apache-2.0

/// A moment of a launch that the app itself reports; each comes once in a launch, and its time counts from `execve`.
public enum LaunchMark: Hashable, Sendable {
    /// The app has shown itself.
    case firstFrame
    /// The app does what it was launched for.
    case useful
    /// The launch and all tasks that extend it are over.
    case extended(tasks: Int)

    /// The mark's name in journal entries.
    public var name: String {
        switch self {
        case .firstFrame: "firstFrame"
        case .useful: "useful"
        case .extended: "extended"
        }
    }
}
