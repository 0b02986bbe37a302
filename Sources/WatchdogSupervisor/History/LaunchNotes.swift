// SPDX-License-Identifier: Apache-2.0

import WatchdogHistory
import WatchdogLinux

/// What the history remembers of a launch until it is over.
struct LaunchNotes {
    /// Why it was launched.
    var cause = "unknown"
    /// The process's folder in `/proc`; nil before the launch, and once it is in the history.
    var folder: OwnedDescriptor?
    /// What was launched, as soon as it is known.
    var version = ProgramVersion()
    /// Whether the launch is in the history already, or about to be.
    var isRecorded = false
    /// Whether the end of the process is in the history already.
    var isOver = false
}
