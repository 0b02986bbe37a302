// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogPolicy
package import WatchdogRecording

/// Executes what a ``Supervisor`` decides for one launch.
///
/// ``LaunchShell`` does it for real; tests use a scripted one that plays whole lives on virtual time. No call blocks:
/// what takes time starts here and ends in a ``LaunchEvent``. What a call needs to know of the machine is passed to it.
package protocol LaunchEffects: AnyObject {
    /// CLOCK_MONOTONIC.
    var now: Instant { get }

    /// CLOCK_BOOTTIME − CLOCK_MONOTONIC: the time the machine has been suspended since it booted.
    var suspendedTime: Duration { get }

    /// Reports ``LaunchEvent/deadlineReached`` at `deadline`, after everything else that is pending then; nil disarms.
    ///
    /// - Parameters:
    ///   - canWait: whether other apps' deadlines go first, because nothing is decided at this one.
    ///   - foresight: when to ask what the main thread is blocked in, so that it is known at the deadline.
    func arm(at deadline: Instant?, canWait: Bool, lookingAhead foresight: Instant?)

    /// Says whether more than signs of life is expected from the app, so that its messages must be read at once.
    func expectMessages(_ isExpecting: Bool)

    /// Whether a process that ``spawn()`` starts executes its program only after ``confirmSpawn()``, and not at all if this
    /// watchdogd ends before.
    var holdsSpawn: Bool { get }

    /// Says that the state that knows of the process is saved.
    func confirmSpawn()

    /// Starts the process; ends in `spawned` once `execve` has succeeded, or in ``LaunchEvent/spawnFailed(_:)``.
    func spawn()

    /// What the kernel has recorded of the program's start until now, or why it records nothing.
    func readStartup() -> StartupReading

    /// Ends the recording of the program's start.
    func endStartup()

    /// Sends one datagram on the channel; drops it if there is no room.
    func send(_ datagram: [UInt8])

    /// Sends a signal to the main process, if there is one.
    func signal(_ signal: Int32)

    /// Makes `pid` the main process from now on.
    ///
    /// - Returns: false if it is not a process of the app.
    func adoptMainProcess(_ pid: Int32) -> Bool

    /// Makes this thread the one that runs the main loop; nil for the process's first.
    func followMainLoop(to thread: Int32?)

    /// Notes the main thread's CPU time and run delay within `patience`; skipped if the next call comes first.
    func beginWindow(patience: Duration)

    /// Examines the main thread; its times count from the last ``beginWindow(patience:)``.
    func inspect() -> Evidence

    /// Starts to sample the app from outside, off the loop.
    func observe(every interval: Duration)

    /// Stops sampling; a hang that was long enough gets a report.
    func endObservation(_ hang: Hang?, _ record: LaunchRecord)

    /// Starts a readiness probe; ends in `probed`.
    func probe()

    /// Starts a liveness probe; ends in `livenessProbed`, possibly before this returns.
    func probeLiveness(id: Int)

    /// Cancels the running liveness probe; it reports nothing.
    func cancelLivenessProbe()

    /// Starts the capture, which also kills if the incident is enforced; ends in ``LaunchEvent/captured(incident:)``.
    func capture(_ incident: Incident)

    /// Asks every process that the main process left behind to end; ends in `treeEmptied`.
    func terminateTree()

    /// Kills every process of the app; ends in `treeEmptied`.
    func killTree()

    /// Starts to stop every process of the app; ends in the lifecycle event `froze`.
    func freeze()

    /// Resumes every process of the app, even while ``freeze()`` is in progress.
    func thaw()

    /// What the app has used; nil if it cannot be read.
    func resourceUse() -> ResourceUse?

    /// Starts writing the report of an incident.
    func report(_ incident: Incident, _ record: LaunchRecord)

    /// Saves the state before irrevocable effects, in case this watchdogd ends now.
    ///
    /// - Parameter effects: the effects that follow; empty if something other than the machine has changed.
    func prepare(
        for effects: [ProcessEffect], _ machine: ProcessMachine, _ account: AppAccount, suspendedTime: Duration)

    /// Saves the state after all effects of the last events have been executed.
    ///
    /// - Parameters:
    ///   - machine: the supervisor's, passed inout because a copy is expensive; it is not changed.
    ///   - isChanged: whether something besides the machine has changed.
    func saveState(
        _ machine: inout ProcessMachine, _ account: AppAccount, suspendedTime: Duration, isChanged: Bool)
}

/// What is known of a program's start.
package struct StartupReading: Hashable, Sendable {
    /// Read once, and kept for the rest of the launch.
    @Boxed package var log: StartupLog?
    /// Why the kernel recorded nothing; nil if it did, or was not asked to.
    package var refusal: String?

    init(log: StartupLog? = nil, refusal: String? = nil) {
        self.init(Boxed(wrappedValue: log), refusal: refusal)
    }

    init(_ log: Boxed<StartupLog>, refusal: String?) {
        _log = log
        self.refusal = refusal
    }
}
