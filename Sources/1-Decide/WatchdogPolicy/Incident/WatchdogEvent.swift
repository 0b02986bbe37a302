// SPDX-License-Identifier: Apache-2.0

/// What an app was being watched for, in the terms of Apple's reports (`WatchdogEvent: scene-update`).
public enum WatchdogEvent: String, Sendable, Codable, CaseIterable {
    /// From `execve` until the app's runtime says hello; if it never does, until the app is ready.
    case processLaunch = "process-launch"
    /// From hello until the app is ready; has the remainder of the launch allowance.
    case sceneCreate = "scene-create"
    /// An answer of the main loop.
    case sceneUpdate = "scene-update"
    /// From the request to terminate until the process is gone.
    case processExit = "process-exit"
    /// Background tasks that are open although the app's time in the background has run out.
    case backgroundTask = "background-task"
    /// What an app holds while it is suspended.
    case suspension = "suspension"

    /// The name of its allowance, which is that of the option: `update`, as in `--update`.
    public var allowanceName: String {
        switch self {
        case .processLaunch, .sceneCreate: "launch"
        case .sceneUpdate: "update"
        case .processExit: "terminate"
        case .backgroundTask: "background"
        case .suspension: "suspension"
        }
    }
}

extension WatchdogEvent {
    /// What the app did not do, in plain words: people who read a list or a message need not know Apple's names.
    public var omission: String {
        switch self {
        case .processLaunch, .sceneCreate: "not ready"
        case .sceneUpdate: "did not answer"
        case .processExit: "did not exit"
        case .backgroundTask: "background tasks"
        case .suspension: rawValue
        }
    }
}
