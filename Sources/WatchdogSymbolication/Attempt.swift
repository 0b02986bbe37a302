// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// One try at a snapshot, in a process of its own.
struct Attempt: Equatable {
    /// How deep to go.
    var depth: Depth
    /// Images, by index, whose bytes libdw is not to see: an earlier attempt ended in them.
    var excluded: [Int]
    /// When the attempt is ended by force.
    var deadline: Instant
    /// What became of earlier attempts, by reason.
    var failures: [Failure] = []

    /// How an attempt can fail.
    enum Failure: Equatable {
        /// A fatal signal, perhaps while an image was parsed.
        case signal(Int32, image: Int?)
        /// The deadline, perhaps while an image was parsed.
        case timeout(image: Int?)
        /// Any other end without a result.
        case exit(Int32)
    }

    /// What the report says of earlier attempts.
    func notes(images: [Image]) -> [String] {
        failures.map { failure in
            let (what, index): (String, Int?) =
                switch failure {
                case .signal(let signal, let image): ("signal \(signal)", image)
                case .timeout(let image): ("a timeout", image)
                case .exit(let code): ("exit code \(code)", nil)
                }
            guard let index, images.indices.contains(index) else { return "symbolication met \(what) and started over" }
            return "\(images[index].path): its debug information led to \(what) and was left out"
        }
    }
}

/// Which attempt follows which.
///
/// An image that ends one is left out of the next; time runs out in three parts, each with less to do than the last.
struct AttemptPlan {
    private static let exclusionLimit = 8

    private let start: Instant
    private let budget: Duration
    private(set) var current: Attempt

    /// Begins with everything, and half of the budget to do it.
    init(start: Instant, budget: Duration) {
        self.start = start
        self.budget = budget
        current = Attempt(depth: .lines, excluded: [], deadline: start + budget * 0.5)
    }

    /// The attempt after one that failed; nil when there is nothing less to try.
    mutating func next(after failure: Attempt.Failure) -> Attempt? {
        guard current.depth > .addresses else { return nil }
        current.failures.append(failure)
        switch failure {
        case .signal(_, let image?) where current.excluded.count < AttemptPlan.exclusionLimit:
            current.excluded.append(image)
        case .timeout(let image?):
            current.excluded.append(image)
            stepDown()
        default:
            stepDown()
        }
        return current
    }

    private mutating func stepDown() {
        current.depth = Depth(rawValue: current.depth.rawValue - 1) ?? .addresses
        current.deadline = start + (current.depth == .names ? budget * 0.75 : budget)
    }
}
