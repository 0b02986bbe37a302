// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// The process whose end is the app's end.
package struct MainProcess {
    package let process: Pidfd
    package let startTime: UInt64?
    /// Nil if only SIGCHLD reports the end.
    package let source: SharedSource.Member?
    /// When the app was launched, on both clocks.
    package let launched: LaunchMoment

    package var pid: Int32 { process.pid }
}

/// One instant on the monotonic clock and on the wall clock.
package struct LaunchMoment {
    package let instant: Instant
    package let time: WallTime

    package static func now() -> LaunchMoment { LaunchMoment(instant: .now(), time: .now()) }

    /// The start of a process.
    ///
    /// - Parameter ticks: clock ticks since boot, which include suspended time: proc_pid_stat(5).
    package static func ofProcess(startedAt ticks: UInt64) -> LaunchMoment {
        let since = Duration.nanoseconds(Int64(clamping: ticks) &* ProcessCPU.clockTick.nanoseconds)
        let age = max(.zero, Machine.uptime - since)
        let now = LaunchMoment.now()
        let time = WallTime(
            seconds: now.time.seconds - age.components.seconds, nanoseconds: now.time.nanoseconds,
            utcOffset: now.time.utcOffset)
        return LaunchMoment(instant: now.instant - age, time: time)
    }
}
