// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy
import WatchdogReport

/// What was seen of an app and what it said of itself, for the report and the summary.
///
/// Every text is the app's: bounded, but not to be trusted.
struct AppAccount: Hashable, Sendable, Codable {
    /// `STATUS=`, the latest.
    var status: String?
    /// `SUMMARY=`, the latest.
    var summary: String?
    /// `ERRNO=`, the latest.
    var errno: Int32?
    /// The client library by its own word.
    var library: String?
    /// `MAINPID=`, when it named a process of the app.
    var mainProcess: Int32?
    /// Pings sent.
    var pingsSent = 0
    /// Answers and `WATCHDOG=1` messages received.
    var signsOfLife = 0
    /// When the latest came.
    var lastSignOfLife: Instant?
    /// How the main process ended.
    var exitStatus: ExitStatus?
    /// Fields that did not make sense.
    var malformed = 0
    /// Datagrams of which only the signs of life were heeded, because there were too many.
    var dropped = 0
}

extension AppAccount {
    /// The pings as a report tells them; nil when there were none.
    ///
    /// - Parameters:
    ///   - now: until when the time since the last answer counts.
    ///   - last: when the latest was sent.
    ///   - slowest: the slowest round trip.
    func pingSummary(until now: Instant, last: Instant?, slowest: Duration?) -> PingSummary? {
        guard pingsSent + signsOfLife > 0 else { return nil }
        return PingSummary(
            sent: pingsSent,
            answered: signsOfLife,
            sinceLastAnswerNanoseconds: lastSignOfLife.map { (now - $0).nanoseconds },
            sinceLastPingNanoseconds: last.map { (now - $0).nanoseconds },
            slowestNanoseconds: slowest?.nanoseconds
        )
    }
}
