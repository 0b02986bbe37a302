// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogPolicy
import WatchdogReport

/// What was observed of an app and what it said of itself, for the report and the summary.
///
/// All texts come from the app: bounded, but untrusted.
package struct AppAccount: Hashable, Sendable, Codable {
    /// The latest `STATUS=`.
    package var status: String?
    /// The latest `SUMMARY=`.
    package var summary: String?
    /// The latest `ERRNO=`.
    package var errno: Int32?
    /// The client library, as reported by the app.
    var library: String?
    /// `MAINPID=`, if it named a process of the app.
    package var mainProcess: Int32?
    var pingsSent = 0
    /// Answers and `WATCHDOG=1` messages received.
    var signsOfLife = 0
    /// When the latest sign of life came.
    var lastSignOfLife: Instant?
    /// When the latest successful liveness probe ended.
    var lastProbe: Instant?
    /// Liveness probes that failed while the app was ready; nil for none.
    package var failedProbes: Int?
    /// How the main process ended.
    package var exitStatus: ExitStatus?
    /// The number of invalid fields.
    var malformed = 0
    /// Datagrams over the rate limit, of which only the signs of life were accepted.
    var dropped = 0

    private enum CodingKeys: String, CodingKey {
        case status, summary, errno, library, mainProcess, pingsSent, signsOfLife, lastSignOfLife, lastProbe,
            failedProbes, exitStatus, malformed, dropped
    }
}

extension AppAccount {
    /// When the app last answered: a ping, a liveness probe, or by itself with `WATCHDOG=1`.
    package var lastAnswer: Instant? { [lastSignOfLife, lastProbe].compactMap(\.self).max() }

    package mutating func note(_ measurement: Measurement, at instant: Instant) {
        switch measurement {
        // A ping's answer was noted when it arrived.
        case .ping: break
        case .probe: lastProbe = instant
        case .failedProbe: failedProbes = (failedProbes ?? 0) + 1
        }
    }

    /// The pings in the form that reports use; nil if there were none.
    ///
    /// - Parameters:
    ///   - now: the end of the time since the last answer.
    ///   - last: when the latest ping was sent.
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
