// SPDX-License-Identifier: Apache-2.0

/// Identifies one launch of an app, also across watchdogd processes.
public struct LaunchID: Hashable, Sendable, CustomStringConvertible {
    /// The text that the launch's files and descriptors are named after.
    public let description: String

    /// Creates an identifier from its text.
    public init(_ text: String) {
        description = text
    }
}
