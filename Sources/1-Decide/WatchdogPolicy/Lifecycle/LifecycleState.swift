// SPDX-License-Identifier: Apache-2.0

/// The state of an app between its launch and its end, in the terms of iOS.
public enum LifecycleState: String, Hashable, Sendable, Codable, CaseIterable {
    /// There is no process.
    case notRunning = "not-running"
    /// The process is running but not ready.
    case launching = "launching"
    /// In use.
    case foreground = "foreground"
    /// Between foreground and background: asked to move, and not there yet.
    case inactive = "inactive"
    /// Not in use; it runs for its background tasks.
    case background = "background"
    /// Frozen: it uses no CPU time, and no deadline counts.
    case suspended = "suspended"
    /// Asked to end, or ending.
    case terminating = "terminating"
}
