// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// Everything a ``Supervisor`` asks of the operating system: the one seam between deciding and doing.
///
/// ``LinuxKernel`` does it for real; a scripted one lets whole lives run in a test on virtual time. No call blocks. What
/// takes time is begun here and ends in a later call to the supervisor.
protocol Kernel: AnyObject {
    /// CLOCK_MONOTONIC.
    var now: Instant { get }

    /// CLOCK_BOOTTIME − CLOCK_MONOTONIC: the time the machine was suspended since it booted.
    var suspendedTime: Duration { get }

    /// Calls ``Supervisor/deadlineReached()`` at `deadline`, after everything else that is pending then; nil disarms.
    ///
    /// - Parameter canWait: whether other apps' deadlines go before this one, because nothing is decided at it.
    func arm(at deadline: Instant?, canWait: Bool)

    /// Starts the process; returns its pid once `execve` has succeeded.
    func spawn() throws -> Int32

    /// Sends one datagram on the channel; what cannot be sent at once is dropped.
    func send(_ datagram: [UInt8])

    /// Sends a signal to the main process, if there still is one.
    func signal(_ signal: Int32)

    /// Takes `pid` for the main process from now on.
    ///
    /// - Returns: false when it is not a process of the app.
    func adoptMainProcess(_ pid: Int32) -> Bool

    /// Takes this thread for the one that runs the main loop from now on; nil for the process's first.
    func followMainLoop(to thread: Int32?)

    /// Remembers the main thread's CPU time and run delay.
    func beginWindow()

    /// Looks at the main thread; its times count from the last ``beginWindow()``.
    func inspect() -> Evidence

    /// Begins to look at the app from outside, away from the loop.
    func observe()

    /// Ends the looks; a hang that was long enough has its report.
    func endObservation(_ hang: Hang?)

    /// Begins one readiness probe; ends in ``Supervisor/probeEnded(isReady:)``.
    func probe()

    /// Begins a liveness probe; ends in ``Supervisor/livenessProbeEnded(id:_:)``, possibly before this returns.
    func probeLiveness(id: Int)

    /// Ends the liveness probe that is under way, without an answer.
    func cancelLivenessProbe()

    /// Begins to take the stacks, and to kill if the incident is enforced; ends in ``Supervisor/captureEnded()``.
    func capture(_ incident: Incident)

    /// Kills every process of the app; ends in ``Supervisor/treeEmptied()``.
    func killTree()

    /// Begins to stop every process of the app; ends in ``Supervisor/frozen(locks:)``.
    func freeze()

    /// Lets every process of the app run on, also while ``freeze()`` is under way.
    func thaw()

    /// What the app has used; nil when it cannot be read.
    func resourceUse() -> ResourceUse?

    /// Begins to write the report of an incident.
    func report(_ incident: Incident)

    /// Keeps the state for the watchdogd that has to go on should this one end before ``settle(_:)``: some of these effects
    /// cannot be undone, and come next.
    func prepare(for effects: [AppEffect])

    /// Keeps the state: everything is done that the last events led to.
    ///
    /// - Parameter machine: the supervisor's, in place, because a copy is dear; it is not changed.
    func settle(_ machine: inout AppMachine)
}

extension Kernel {
    func prepare(for effects: [AppEffect]) {}
    func settle(_ machine: inout AppMachine) {}
}
