// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRecording

/// What the program had used at the moments that may turn out to be the end of its launch.
///
/// A listening socket or an idle main thread counts as the end only some time later, when the program has used more.
struct LaunchCosts {
    /// A moment, and what had been used until then.
    struct Moment {
        var time: Instant
        var resources: LaunchResources
        /// What the kernel had counted for the threads; empty where their lanes tell.
        var threads: [LaunchLog.ThreadFacts] = []
    }

    private var moments: [Moment] = []

    mutating func keep(_ moment: Moment) { moments.append(moment) }

    /// The first moment that is not before the end of the launch; nil if none was kept.
    func moment(at end: Instant) -> Moment? {
        moments.filter { $0.time >= end }.min { $0.time < $1.time }
    }
}
