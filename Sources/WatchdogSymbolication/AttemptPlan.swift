// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// Which attempt follows which.
///
/// An image that ends one is left out of the next. The budget has three parts, each with less to do than the one before.
struct AttemptPlan {
    private static let exclusionLimit = 8

    private let start: Instant
    private let budget: Duration
    private(set) var current: Attempt

    /// Begins with everything, and half of the budget to do it.
    init(start: Instant, budget: Duration) {
        self.start = start
        self.budget = budget
        current = Attempt(depth: .lines, deadline: start + budget * 0.5)
    }

    /// The attempt after one that failed; nil when there is nothing less to try.
    mutating func next(after failure: Attempt.Failure) -> Attempt? {
        guard current.depth > .addresses else { return nil }
        current.failures.append(failure)
        if let image = failure.image { current.excluded.append(image) }
        switch failure {
        case .signal(_, _?) where current.excluded.count <= AttemptPlan.exclusionLimit: break
        default: stepDown()
        }
        return current
    }

    private mutating func stepDown() {
        current.depth = current.depth == .lines ? .names : .addresses
        current.deadline = start + (current.depth == .names ? budget * 0.75 : budget)
    }
}
