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

/// Decides which hangs that ended by themselves are reported: those that were long enough, at most five of a launch in
/// five minutes.
///
/// Isolation: a value; its holder serializes the calls.
public struct HangReportLimit: Hashable, Sendable {
    private static let count = 5
    private static let period = Duration.seconds(300)

    private var reports = PeriodLimit(HangReportLimit.count, in: HangReportLimit.period)

    /// Creates the limit of a launch of which nothing is reported yet.
    public init() {}

    /// Whether a hang that has just ended is reported; counts it if so.
    public mutating func admit(_ hang: Hang, of spec: AppSpec, at now: Instant) -> Bool {
        guard let threshold = spec.hangReportThreshold, hang.duration >= threshold else { return false }
        return reports.admit(at: now)
    }
}
