// SPDX-License-Identifier: Apache-2.0

/// Where an app stands in front of its user.
public enum Visibility: String, Hashable, Sendable, Codable, CaseIterable {
    /// The app serves somebody now.
    case foreground
    /// The app is out of sight and may soon be suspended.
    case background
}
