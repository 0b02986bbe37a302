// SPDX-License-Identifier: Apache-2.0

/// A right of a client.
public enum ControlRight: String, Hashable, Sendable, CaseIterable {
    /// See the names and states of apps.
    case observe
    /// See everything else about apps: processes, messages, incidents, reports and output.
    case inspect
    /// Start, stop and capture apps, and reload the configuration.
    case act
}
