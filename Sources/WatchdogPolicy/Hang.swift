// SPDX-License-Identifier: Apache-2.0

/// A silence of the main loop that it ended itself, before its allowance was exhausted.
public struct Hang: Hashable, Sendable {
    /// What the app was watched for.
    public let event: WatchdogEvent
    /// When the main loop was asked.
    public let startedAt: Instant
    /// How long it took to answer, without time for which its clock stood still.
    public let duration: Duration
    /// How long it might have taken.
    public let allowance: Duration
}
