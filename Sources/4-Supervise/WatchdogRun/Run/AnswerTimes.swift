// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The answer times of an app's main loop.
struct AnswerTimes: Equatable {
    /// The longest time of an answer to a ping, or of waiting for one that has not come; nil without pings.
    var longest: Duration?
    /// The time for which the main loop had not answered at the end, if that is a hang; a late answer counts as such.
    var silence: Duration?
}

extension AnswerTimes {
    /// The times of an app that has ended.
    init(of machine: ProcessMachine, until end: Instant) {
        let silence = machine.silentSince.map { max(.zero, end - $0) }
        let answered = machine.pings.count > 0 ? max(machine.pings.maximum, machine.hangs.maximum) : nil
        self.init(
            longest: [answered, silence].compactMap(\.self).max(),
            silence: silence.flatMap { $0 < machine.spec.hangThreshold ? nil : $0 })
    }
}
