// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy

extension LinuxKernel {
    /// The children that are reaped here and nowhere else.
    var children: [Int32] {
        [main?.process.pid, probeProcess?.pid, livenessCommand?.pid, reloadProcess?.pid].compactMap(\.self)
    }

    var livenessCommand: ProbeProcess? {
        if case .command(let process)? = livenessAttempt { process } else { nil }
    }

    func childrenChanged() {
        followJobControl()
        probeProcess?.reap()
        livenessCommand?.reap()
        reloadProcess?.reap()
        mainProcessEnded()
    }

    func mainProcessEnded() {
        guard !isReaped, let ended = main?.process.pid, main?.process.hasExited == true else { return }
        hearLastWords()
        // The last word may have been MAINPID: another process took its place.
        guard let main, main.process.pid == ended else { return host.childrenChanged() }
        main.source.cancel()
        do {
            // A debugger keeps the end of its tracee to itself: the pidfd tells of it, and wait does not. SIGCHLD comes
            // when it lets go: ptrace(2).
            guard let exit = try main.process.waitExit() else {
                isHeldByDebugger = true
                return
            }
            isHeldByDebugger = false
            exitUsage = exit.usage
            finished(exit.status)
        } catch {
            finished(.unknown)
        }
    }

    private func finished(_ status: ExitStatus) {
        isReaped = true
        terminal?.reclaim()
        if status == .exited(code: 0) {
            let ours = children
            leftBehind = containment?.processes().filter { !ours.contains($0) }.count ?? 0
        }
        supervisor?.exited(status)
    }

    // MARK: - Job control

    private func followJobControl() {
        guard let main, let change = try? main.process.waitStopOrContinue() else { return }
        switch change {
        case .stopped:
            supervisor?.stopped()
            if let terminal, !freezer.isOn { stopOurselves(with: terminal) }
        case .continued:
            supervisor?.continued()
        }
    }

    /// A program that stops in the foreground stops the job that it is, which is us: the shell takes over, and continues
    /// us when the user says `fg` or `bg`.
    private func stopOurselves(with terminal: ForegroundTerminal) {
        guard let main, !terminal.isOurs else { return }
        terminal.reclaim()
        kill(getpid(), SIGSTOP)
        if terminal.isOurs { terminal.give(to: main.process.pid) }
        kill(-main.process.pid, SIGCONT)
    }

    // MARK: - The end of the tree

    /// Steps between two looks at a dying tree: a cgroup is empty within a millisecond or two, a walk through `/proc` is
    /// not to be repeated a thousand times for a process that cannot die.
    private static let treeSteps = Duration.milliseconds(1)...Duration.milliseconds(50)

    func killTree() {
        try? containment?.kill()
        // A capture that is still running then has outlived its budget.
        host.captureThread.replaceStuckWorker(after: configuration.spec.captureBudget / 2, at: now)
        treeStep = Self.treeSteps.lowerBound
        lookAtTree()
    }

    private func lookAtTree() {
        guard let step = treeStep else { return }
        host.childrenChanged()
        if main.map({ $0.process.hasExited }) ?? true, containment?.isEmpty ?? true {
            treeStep = nil
            supervisor?.treeEmptied()
            return
        }
        // A process that was forked between two looks at /proc is met by the next one.
        try? containment?.kill()
        if treeTimer == nil {
            treeTimer = try? loop.timer { [unowned self] _ in lookAtTree() }
        }
        treeTimer?.arm(at: now + step)
        treeStep = min(step * 2, Self.treeSteps.upperBound)
    }
}
