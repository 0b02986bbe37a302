// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogPolicy
package import WatchdogReport

/// When the liveness probes failed that have not been answered since, for the report.
package struct FailedProbes {
    /// More are not kept; the newest are.
    package static let most = MissedDetails.mostFailures

    private struct Failure {
        let started: Instant
        let duration: Duration
        let reason: String?
    }

    private var failures: [Failure] = []

    /// Notes a failure, or forgets them all once a probe was answered.
    ///
    /// - Parameter now: when the probe ended.
    package mutating func note(_ notice: ProbeNotice, at now: Instant) {
        guard case .failed(let missed) = notice else {
            switch notice {
            case .recovered, .resumed: failures = []
            default: break
            }
            return
        }
        // A first failure follows an answer, or an end of the count, that nobody announced.
        if missed.count == 1 { failures = [] }
        var reason: String?
        if case .failed(let words) = missed.last { reason = words }
        failures.append(Failure(started: now - missed.lastDuration, duration: missed.lastDuration, reason: reason))
        if failures.count > Self.most { failures.removeFirst() }
    }

    /// The failures in the form that reports use.
    package func details(until capture: Instant) -> [MissedDetails.Failure] {
        failures.map {
            MissedDetails.Failure(
                sinceNanoseconds: (capture - $0.started).nanoseconds, durationNanoseconds: $0.duration.nanoseconds,
                reason: $0.reason)
        }
    }
}
