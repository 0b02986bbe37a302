// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The sequence of attempts.
///
/// After a crash in an image, the next attempt skips the image's lines; after a second crash, it skips the whole image.
/// Each timeout leads to an attempt with less work, for which a part of the budget is reserved. If there is no confined
/// process, the last attempt follows at once.
struct AttemptPlan {
    private static let crashLimit = 16

    private let start: Instant
    private let budget: Duration
    private(set) var current: Attempt

    /// Starts with an attempt at full detail, which has half of the budget.
    init(start: Instant, budget: Duration) {
        self.start = start
        self.budget = budget
        current = Attempt(depth: .lines, deadline: start + budget * 0.5)
    }

    /// The attempt after a failed one; nil if the work cannot be reduced further.
    mutating func next(after failure: Attempt.Failure) -> Attempt? {
        if case .noWorker = failure, !current.isWithoutWorker {
            current.failures.append(failure)
            current.depth = .addresses
            current.deadline = start + budget
            return current
        }
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
