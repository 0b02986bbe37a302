// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// What came of the steps of a script, and how long each took.
struct ScriptRecord {
    private let script: LifecycleScript
    /// When each step began, up to the current one, which began when the one before it was done.
    private var starts: [Instant]
    private var stop: (index: Int, reason: String, at: Instant)?

    /// Creates the record of a script whose first step begins now.
    init(of script: LifecycleScript, at now: Instant) {
        self.script = script
        starts = [now]
    }

    /// The current step, from 0; the number of steps when all are done.
    var index: Int { starts.count - 1 }

    /// Why the script failed, with the place; nil if it has not.
    var failure: String? {
        stop.map { stop in
            let step = script.steps[stop.index]
            return "\(script.path):\(step.line): \(step.text): \(stop.reason)"
        }
    }

    /// Notes that the current step is done.
    mutating func pass(at now: Instant) { starts.append(now) }

    /// Notes that the script stops because of this step, which may have been done before.
    mutating func fail(_ index: Int, because reason: String, at now: Instant) { stop = (index, reason, now) }

    /// One test for each step, named by its line and its command.
    ///
    /// - Parameter details: what a failure is shown with.
    func cases(details: String) -> [TestSuite.Case] {
        script.steps.enumerated().map { number, step in
            let name = "line \(step.line): \(step.text)"
            if let stop, let failure, number == stop.index {
                return TestSuite.Case(name, .failed(failure, details: details), duration: stop.at - starts[number])
            }
            guard number < stop?.index ?? index else {
                let place = stop.map { "at line \(script.steps[$0.index].line)" } ?? "before it"
                return TestSuite.Case(name, .skipped("the script stopped \(place)"))
            }
            return TestSuite.Case(name, .passed, duration: starts[number + 1] - starts[number])
        }
    }
}
