// SPDX-License-Identifier: Apache-2.0

/// The state of the app's configuration.
public enum AppStanding: Hashable, Sendable {
    /// Enabled: it is launched when watchdogd starts.
    case enabled
    /// Disabled: it is launched on request.
    case disabled
    /// Invalid: a running process continues, and nothing follows it.
    case invalid
    /// Removed: its process is ended.
    case removed
}
