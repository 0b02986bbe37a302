// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A silence of the main loop that ended by itself before the allowance ran out.
public struct Hang: Hashable, Sendable {
    /// What the app was watched for.
    public let event: WatchdogEvent
    /// When the main loop was asked.
    public let startedAt: Instant
    /// How long the answer took, without pauses.
    public let duration: Duration
    /// The allowance for the answer.
    public let allowance: Duration
}
