// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// The results of a script's steps, and their durations.
struct ScriptRecord {
    private let script: LifecycleScript
    /// The start times of the steps up to the current one; each starts when the previous one is done.
    private var starts: [Instant]
    private var stop: (index: Int, reason: String, at: Instant)?

    /// Creates the record of a script whose first step begins now.
    init(of script: LifecycleScript, at now: Instant) {
        self.script = script
        starts = [now]
    }

    /// The current step, from 0; the number of steps when all are done.
    var index: Int { starts.count - 1 }

    /// The failure with its position in the script; nil without one.
    var failure: String? {
        stop.map { stop in
            let step = script.steps[stop.index]
            return "\(script.path):\(step.line): \(step.text): \(stop.reason)"
        }
    }

    /// Records that the current step is done.
    mutating func pass(at now: Instant) { starts.append(now) }

    /// Records that this step, which may be an earlier one, ends the script.
    mutating func fail(_ index: Int, because reason: String, at now: Instant) { stop = (index, reason, now) }

    /// One test for each step, named by its line and its command.
    ///
    /// - Parameter details: text that is shown with a failure.
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
