// SPDX-License-Identifier: Apache-2.0

/// The state of an app between its launch and its end, in the terms of iOS.
public enum LifecycleState: String, Hashable, Sendable, Codable, CaseIterable {
    /// There is no process.
    case notRunning = "not-running"
    /// The process is running but not ready.
    case launching
    /// In use.
    case foreground
    /// Between foreground and background: asked to move, and not there yet.
    case inactive
    /// Not in use; it runs for its background tasks.
    case background
    /// Frozen: it uses no CPU time, and no deadline counts.
    case suspended
    /// Asked to end, or ending.
    case terminating
}
