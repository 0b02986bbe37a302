// SPDX-License-Identifier: Apache-2.0

/// How much may be revealed about a process.
public enum TrailSight: String, Codable, Sendable, CaseIterable {
    /// Everything.
    case whole
    /// What everybody may see, because the app's user may not read the process.
    case outside
    /// The same, because watchdogd itself may not read it.
    case refused
}
