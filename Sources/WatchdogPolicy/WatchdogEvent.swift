// SPDX-License-Identifier: Apache-2.0

/// What an app was being watched for, in the words of Apple's reports (`WatchdogEvent: scene-update`).
public enum WatchdogEvent: String, Sendable, Codable, CaseIterable {
    /// From `execve` until the app's runtime says hello, or until it is ready when it never does.
    case processLaunch = "process-launch"
    /// From hello until the app is ready; has what is left of the launch allowance.
    case sceneCreate = "scene-create"
    /// An answer of the main loop.
    case sceneUpdate = "scene-update"
    /// From the request to terminate until the process is gone.
    case processExit = "process-exit"
    /// Background tasks that are open although the app's time in the background is over.
    case backgroundTask = "background-task"
    /// What an app holds on to while it is suspended.
    case suspension
}
