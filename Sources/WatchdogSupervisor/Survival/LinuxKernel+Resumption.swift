// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension LinuxKernel {
    /// Goes on with a launch of the watchdogd before this one: hears what was said meanwhile, takes note of an end, and
    /// asks again for what may be lost.
    ///
    /// To be called once, after ``start(_:)``.
    ///
    /// - Returns: false when nothing was launched.
    func resume(_ inherited: InheritedLaunch) -> Bool {
        guard let supervisor else { return false }
        keeper = LaunchKeeper(configuration.launchID, inherited.file, holding: inherited.state.machine, at: now)
        let saved = inherited.state.process
        formerProcess = saved
        if let cgroup {
            containment = .cgroup(cgroup)
        } else if let saved {
            containment = .processTree(
                ProcessTree(root: saved.pid, startTime: saved.startTime ?? 0, marker: launchMarker))
        }
        owedCrash = inherited.state.owedCrash
        owed = Dictionary(inherited.state.owed.map { ($0.incident.id, $0) }, uniquingKeysWith: { $1 })
        if case .ended = supervisor.machine.phase {
            repeatReports()
            return true
        }
        guard let saved else { return resumeSpawning() }
        if let process = inherited.process {
            hold(process, saved, thread: inherited.pulse?.thread ?? saved.thread)
            window = inherited.pulse?.window.map { window in
                Window(
                    start: ProcessProbe.Usage(
                        at: window.at, schedule: window.schedule, processCPUTime: window.processCPUTime),
                    machine: nil)
            }
            if inherited.descriptors.channel == nil { supervisor.channelLost() }
            hearLastWords()
            mainProcessEnded()
        } else {
            hearLastWords()
            supervisor.exited(.unknown)
        }
        supervisor.returned(isLastStepDone: inherited.pulse != nil)
        repeatReports()
        return true
    }

    /// Whether a process has run in the cgroup, which was made for this launch and nothing else.
    ///
    /// Tells a process that has come and gone between two writes of the state from one that never was, without a write after
    /// its start that the next instruction of the app would have to wait for.
    var hasRun: Bool { (cgroup?.cpuTime ?? .zero) > .zero }

    /// Takes over a process of the app of whose life nothing is known.
    func adopt(_ process: Pidfd) {
        guard let supervisor, let stat = ProcessStat.read(process.pid) else { return }
        let saved = LaunchState.Process(
            pid: process.pid, startTime: stat.startTime, launchedAt: now, launchTime: .current(), thread: nil)
        if let cgroup {
            containment = .cgroup(cgroup)
        } else {
            containment = .processTree(
                ProcessTree(root: process.pid, startTime: stat.startTime, marker: launchMarker))
        }
        hold(process, saved, thread: nil)
        supervisor.adopted(process.pid)
        takeUp()
    }

    /// Stores what nobody has stored of a process that was found, and hears what it has said.
    private func takeUp() {
        storeSockets()
        storeProcess()
        hearLastWords()
        mainProcessEnded()
    }

    private func hold(_ process: Pidfd, _ saved: LaunchState.Process, thread: Int32?) {
        guard
            let source = try? loop.onReadable(
                process.descriptor, priority: .important,
                handler: { [unowned self] in
                    mainProcessEnded()
                })
        else { return }
        host.setOwner(of: process.pid, to: self)
        main = MainProcess(
            process: process,
            startTime: saved.startTime,
            probe: (try? ProcessProbe(process.pid, thread: thread)) ?? (try? ProcessProbe(process.pid)),
            source: source,
            launchedAt: saved.launchedAt,
            launchTime: saved.launchTime
        )
        findLog(of: process.pid)
    }

    /// The watchdogd before this one ended while it started the process: if it is there, it has the launch's mark.
    private func resumeSpawning() -> Bool {
        guard let supervisor else { return false }
        // Without a cgroup it may be any: the mark is of this launch, and nobody else has been told it.
        let found = (cgroup?.processes() ?? ProcessFacts.all).first { pid in
            ProcessFacts.environment(pid)?[Self.launchVariable] == configuration.launchID.description
                && ProcessStat.read(pid)?.session == pid
        }
        guard let found, let process = try? Pidfd(opening: found) else { return false }
        let saved = LaunchState.Process(
            pid: found, startTime: ProcessStat.read(found)?.startTime, launchedAt: now, launchTime: .current(),
            thread: nil)
        if cgroup == nil {
            containment = .processTree(
                ProcessTree(root: found, startTime: saved.startTime ?? 0, marker: launchMarker))
        }
        hold(process, saved, thread: nil)
        supervisor.spawned(found)
        takeUp()
        return true
    }

    /// Writes the reports that were being written, without the stacks, unless they are there.
    private func repeatReports() {
        for owed in owed.values.sorted(by: { $0.incident.id < $1.incident.id })
        where pendingReports[owed.incident.id] == nil {
            report(owed.incident)
        }
        guard owedCrash != nil, case .ended(let outcome)? = supervisor?.machine.phase else { return }
        if let crash = supervisor?.crash(in: outcome) { reportCrash(crash) }
    }
}
