// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Takes over a process that a previous watchdogd, or somebody unknown, launched.
///
/// Isolation: the loop's thread.
package struct LaunchResumption {
    package let shell: LaunchShell
    package let supervisor: Supervisor

    package init(shell: LaunchShell, supervisor: Supervisor) {
        self.shell = shell
        self.supervisor = supervisor
    }

    /// Resumes a launch of the previous watchdogd: reads what the app has sent since, handles an exit, and repeats
    /// requests that may have been lost.
    ///
    /// Call it once, after ``LaunchShell/start(_:)``.
    ///
    /// - Returns: false if nothing was launched.
    package func resume(_ inherited: InheritedLaunch) -> Bool {
        let state = inherited.state
        shell.keeper = LaunchKeeper(
            shell.configuration.launchID, inherited.file, holding: state.machine, at: shell.now)
        shell.tree.resume(state.process)
        shell.incidents.resume(state.pendingReports, crash: state.pendingCrash)
        if case .ended = supervisor.machine.phase {
            repeatReports()
            return true
        }
        guard let saved = state.process else { return resumeSpawning() }
        shell.sockets.closeAppEnd()
        if let process = inherited.process {
            hold(process, saved, thread: inherited.pulse?.thread ?? saved.thread)
            shell.evidence.main.resume(inherited.pulse?.window)
            if inherited.descriptors.channel == nil { supervisor.handle(.machine(.channelLost)) }
            shell.sockets.readLastMessages()
            shell.tree.reapMain()
        } else {
            shell.sockets.readLastMessages()
            supervisor.handle(.exited(.unknown))
        }
        supervisor.returned(isLastStepDone: inherited.pulse != nil)
        repeatReports()
        return true
    }

    /// Adopts a process of the app whose history is lost.
    ///
    /// - Parameters:
    ///   - startTime: its start time; nil if that is not known, and a process that has ended is not adopted.
    ///   - launched: when it was launched; nil if that is not known.
    package func adopt(_ process: Pidfd, startTime: UInt64? = nil, launched: LaunchMoment? = nil) {
        guard let startTime = startTime ?? ProcessStat.read(process.pid)?.startTime else { return }
        follow(process, startTime: startTime, launched: launched) {
            supervisor.handle(.machine(.adopted(pid: process.pid)))
        }
    }

    /// Finds the process that the previous watchdogd was starting when it ended.
    ///
    /// If the process exists, its environment has the launch's mark.
    private func resumeSpawning() -> Bool {
        // Without a cgroup, search all processes: nobody else knows the mark of this launch.
        let copying = shell.host.copiers.copying(for: shell.configuration.tenant)
        let found = (shell.cgroup?.processes() ?? ProcessFacts.all).first { pid in
            ProcessStat.read(pid)?.session == pid
                && copying.environment(of: pid)?[LaunchConfiguration.launchVariable]
                    == shell.configuration.launchID.description
        }
        guard let found, let process = try? shell.host.system.openProcess(found) else { return false }
        follow(process, startTime: ProcessStat.read(found)?.startTime) {
            supervisor.handle(.machine(.spawned(pid: found)))
        }
        return true
    }

    /// Holds a process that was found running, stores its descriptors, and reads the messages it has sent.
    ///
    /// - Parameter tell: reports the process to the supervisor.
    private func follow(
        _ process: Pidfd, startTime: UInt64?, launched: LaunchMoment? = nil, tell: () -> Void
    ) {
        let launched = launched ?? .now()
        let saved = LaunchState.Process(
            pid: process.pid, startTime: startTime, launchedAt: launched.instant, launchTime: launched.time, thread: nil
        )
        shell.tree.resume(saved)
        hold(process, saved, thread: nil)
        shell.sockets.closeAppEnd()
        tell()
        shell.storeSockets()
        shell.storeProcess()
        shell.sockets.readLastMessages()
        shell.tree.reapMain()
    }

    private func hold(_ process: Pidfd, _ saved: LaunchState.Process, thread: Int32?) {
        shell.tree.hold(process, saved)
        shell.evidence.main.follow(process.pid, startTime: saved.startTime, thread: thread)
        guard let startTime = saved.startTime else { return }
        shell.output.find(
            of: ExaminedProcess(id: process.pid, startTime: startTime, cgroup: nil), shell.configuration.tenant,
            by: shell.host.examiner, launchedAt: saved.launchedAt, isInCgroup: shell.tree.isInCgroup)
    }

    /// Writes the reports that the previous watchdogd was writing, unless they exist.
    private func repeatReports() {
        shell.incidents.repeatReports(supervisor.record)
        guard shell.incidents.pendingCrash != nil, case .ended(let outcome) = supervisor.machine.phase,
            let crash = supervisor.crash(in: outcome)
        else { return }
        shell.incidents.report(crash, supervisor.record, isRepeated: true)
    }
}
