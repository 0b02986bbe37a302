// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What can happen to a judged process, in the same words for all watches.
enum WatchEvent: Hashable, Sendable {
    /// The instant that the watch asked for has come, or has passed.
    case due
    /// The answer to the examination with this id.
    case inspected(id: Int, Evidence)
    /// The main process was stopped by a signal.
    case stopped
    case continued
    /// The machine was suspended for this long.
    case machineResumed(Duration)
    /// A capture ended, during which examinations were not answered.
    case captureEnded
    /// The supervisor has restarted, and an answer may be lost.
    case returned
}
