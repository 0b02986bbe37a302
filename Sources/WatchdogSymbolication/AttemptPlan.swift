// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// Which attempt follows which.
///
/// After a crash in an image the next attempt leaves its lines alone, then the whole image. Each timeout leads to an
/// attempt with less to do, for which a part of the budget was kept back.
struct AttemptPlan {
    private static let crashLimit = 16

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
        let isFirstWithoutImages = current.excluded.isEmpty
        current.failures.append(failure)
        switch (failure, current.depth) {
        case (.signal(_, let image?), _) where current.failures.count <= AttemptPlan.crashLimit:
            leaveOut(image)
        case (.timeout(let image?), .names) where isFirstWithoutImages:
            leaveOut(image)
            current.deadline = start + budget * 0.9
        case (_, .lines):
            current.depth = .names
            current.deadline = start + budget * 0.7
        default:
            current.depth = .addresses
            current.deadline = start + budget
        }
        return current
    }

    private mutating func leaveOut(_ image: Int) {
        if current.depth == .lines, !current.withoutLines.contains(image) {
            current.withoutLines.append(image)
        } else {
            current.excluded.append(image)
        }
    }
}
