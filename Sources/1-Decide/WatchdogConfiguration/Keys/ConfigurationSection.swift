// SPDX-License-Identifier: Apache-2.0

/// A section of an app's file; the raw value is its name.
public enum ConfigurationSection: String, Hashable, Sendable, CaseIterable {
    /// The program and its process.
    case app = "App"
    /// Allowances and signs of life.
    case watchdog = "Watchdog"
    /// What happens after the app ends.
    case restart = "Restart"
}
