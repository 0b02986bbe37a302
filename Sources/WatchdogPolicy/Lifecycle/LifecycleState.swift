// SPDX-License-Identifier: Apache-2.0

/// Where an app is between its launch and its end, in the words of iOS.
public enum LifecycleState: String, Hashable, Sendable, Codable, CaseIterable {
    /// No process.
    case notRunning = "not-running"
    /// The process runs and is not ready.
    case launching
    /// In use.
    case foreground
    /// On the way between foreground and background: asked to move, and not there yet.
    case inactive
    /// Out of sight; it runs for its background tasks.
    case background
    /// Frozen: it takes no CPU time, and no deadline counts.
    case suspended
    /// Asked to end, or ending.
    case terminating
}
