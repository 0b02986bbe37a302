// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The terms that an examination is judged by.
struct Terms {
    let fairness: Fairness
    /// What the app has after a pause that was discovered at the deadline; nil for its whole budget.
    ///
    /// Zero decides the allowance.
    var recovery: Duration?
    /// The run delay to use; nil for that of the evidence.
    var runDelay: Duration?
    /// From this instant, being stopped is no excuse; nil for never.
    var stopExcuseEnd: Instant?
    /// Whether it counts as well who holds up the process that should answer a probe.
    var concernsServer = false
    /// Whether an examination must confirm the deadline.
    var needsEvidence = true
    /// Whether the supervisor itself froze the process, so that being stopped or frozen is no excuse.
    var isSuspended = false

    init(_ fairness: Fairness) {
        self.fairness = fairness
    }

    func excuse(in evidence: Evidence, at now: Instant) -> Pause? {
        switch concernsServer ? evidence.probedPause : evidence.pause {
        case .stopped where isSuspended || stopExcuseEnd.map { now >= $0 } ?? false: nil
        case .frozen where isSuspended: nil
        case let pause: pause
        }
    }

    func nextExamination(during pause: Pause, at now: Instant) -> Instant {
        let next = now + fairness.pauseInterval
        guard pause == .stopped, let end = stopExcuseEnd, end > now else { return next }
        return min(next, end)
    }
}

/// Numbers examinations and probes, to match answers with requests.
struct Numbers: Hashable, Sendable {
    private(set) var examinations = 0
    private(set) var probes = 0

    init(examinations: Int = 0) {
        self.examinations = examinations
    }

    mutating func nextExamination() -> Int {
        examinations += 1
        return examinations
    }

    mutating func nextProbe() -> Int {
        probes += 1
        return probes
    }
}
