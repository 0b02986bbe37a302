// SPDX-License-Identifier: Apache-2.0

/// Whether an app is in use.
public enum Visibility: String, Hashable, Sendable, Codable, CaseIterable {
    /// The app is serving somebody now.
    case foreground = "foreground"
    /// The app is not in use and may soon be suspended.
    case background = "background"
}
