// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux

/// Passes the apps to the next watchdogd: to one that somebody starts, or to this process after it executes itself
/// again.
///
/// Isolation: the loop's thread.
final class Handover {
    /// Whether the daemon exits without ending its apps.
    private(set) var isLeaving = false
    private unowned let daemon: Daemon
    private var retry: Timer?

    init(of daemon: Daemon) {
        self.daemon = daemon
    }

    /// Exits, and leaves the apps to the next watchdogd.
    func leave() {
        isLeaving = true
        flush()
        daemon.host.survival?.notifier?.say(["STOPPING=1"])
        daemon.host.loop.exit(code: 0)
    }

    /// Executes the program again, as it is on disk now, in this process.
    func reexecute() {
        reexecute(attempts: 100)
    }

    /// Waits for unfinished captures and reports, up to a limit: the next watchdogd would start them again.
    private func reexecute(attempts: Int) {
        guard !daemon.isStopping, !isLeaving else { return }
        // Before running commands are ended: the next watchdogd would start them again.
        if let obstacle = Reexecution.obstacle {
            return daemon.announcer.say("\(obstacle); this watchdogd keeps running")
        }
        // execve(2) ends all other threads first, and waits for one that no signal ends.
        let thread = ProcessCondition.threadBeyondSignals()
        if let thread, attempts == 0 {
            return daemon.announcer.say("cannot execute the program again: \(thread); this watchdogd keeps running")
        }
        guard thread == nil, !daemon.host.isBusy || attempts == 0 else {
            retry = try? daemon.host.loop.timer { [unowned self] _ in reexecute(attempts: attempts - 1) }
            retry?.arm(at: daemon.host.loop.now + .milliseconds(50))
            return
        }
        let descriptors = flush()
        daemon.host.hooks.stop()
        daemon.history?.flush()
        daemon.host.releaseScheduling()
        OpenFileLimit.lower()
        let error = Reexecution.execute(keeping: descriptors, daemon.host.closer?.handedOver)
        OpenFileLimit.raise()
        daemon.host.requestScheduling()
        daemon.announcer.say("\(error); this watchdogd keeps running")
    }

    /// Saves everything as it is now, and returns the descriptors that belong to it.
    @discardableResult
    private func flush() -> [Int32] {
        daemon.doPostponed()
        var launches: [AppLaunch] = []
        for app in daemon.allApps {
            app.save()
            launches += app.handOver()
        }
        for launch in launches { launch.flush() }
        // An observed process is found again.
        return launches.filter { $0.shell.configuration.observed == nil }.flatMap {
            $0.shell.keptDescriptors.map(\.number)
        }
    }
}
