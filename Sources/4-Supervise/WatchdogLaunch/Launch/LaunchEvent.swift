// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogPolicy

/// What a component of a launch's shell reports to its ``Supervisor``: facts, never decisions.
package enum LaunchEvent {
    /// An event that goes to the machine unchanged.
    case machine(ProcessEvent)
    /// The process could not be started, and nothing of it remains.
    case spawnFailed(any Error)
    /// The main process ended.
    case exited(ExitStatus)
    /// The capture for this incident has ended or failed. The supervisor decides whether the incident is current.
    case captured(incident: Int)
    /// The armed deadline was reached.
    case deadlineReached
    /// A datagram from the app's channel.
    case channelMessage([UInt8])
    /// A datagram that a process of the app sent to the notify socket.
    ///
    /// - Parameters:
    ///   - age: the time since it was sent.
    ///   - isAttributed: whether the sender is known to be a process of the app; otherwise it is gone.
    case notifyMessage([UInt8], age: Duration = .zero, isAttributed: Bool = true)
    /// A datagram on the notify socket came from a process that is not the app's, and does not count.
    ///
    /// - Parameters:
    ///   - sender: its process; 0 if it is outside the pid namespace.
    ///   - user: its user.
    case messageRefused(sender: Int32, user: UInt32)
    /// Something besides the machine has changed that the next watchdogd must know.
    ///
    /// - Parameter isUrgent: whether it must be saved before the component continues.
    case stateChanged(isUrgent: Bool)
}

/// What a supervisor knows of its launch for reports.
package struct LaunchRecord {
    package let account: AppAccount
    package let lifecycle: LifecycleRecord
    package let lifecycleState: LifecycleState
    var wasReady: Bool { launchDuration != nil }
    /// When the main process was launched.
    package let launchedAt: Instant?
    /// From `execve` to ready.
    package let launchDuration: Duration?
    /// What the app marked in its launch.
    package let trace: LaunchTrace
    let lastPingSent: Instant?
    /// The slowest round trip of a ping.
    let slowestPing: Duration?
    package let failedProbes: FailedProbes
}
