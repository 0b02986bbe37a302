// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The program's resource usage at the candidate moments for the end of its launch.
///
/// A listening socket or an idle main thread is confirmed as the end only later, when the program has used more.
struct LaunchCosts {
    /// A moment, and the usage until then.
    struct Moment {
        var time: Instant
        var resources: LaunchResources
        /// The kernel's accounts of the threads; empty if their lanes have them.
        var threads: [LaunchLog.ThreadFacts] = []
    }

    private var moments: [Moment] = []

    mutating func keep(_ moment: Moment) { moments.append(moment) }

    /// The first moment that is not before the end of the launch; nil without one.
    func moment(at end: Instant) -> Moment? {
        moments.filter { $0.time >= end }.min { $0.time < $1.time }
    }
}
