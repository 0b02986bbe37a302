// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// The process whose end is the app's end.
struct MainProcess {
    let process: Pidfd
    let startTime: UInt64?
    /// Nil if only SIGCHLD reports the end.
    let source: IOSource?
    /// When the app was launched, on both clocks.
    let launched: LaunchMoment

    var pid: Int32 { process.pid }
}

/// One instant on the monotonic clock and on the wall clock.
struct LaunchMoment {
    let instant: Instant
    let time: WallTime

    static func now() -> LaunchMoment { LaunchMoment(instant: .now(), time: .now()) }
}
