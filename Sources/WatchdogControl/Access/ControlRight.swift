// SPDX-License-Identifier: Apache-2.0

/// What a caller may be allowed to do.
public enum ControlRight: String, Hashable, Sendable, CaseIterable {
    /// See which apps there are and what happens to them.
    case observe
    /// See what apps print.
    case readLogs
    /// Start, stop and capture apps, and reload the configuration.
    case act
}
