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
        reexecute(after: ReexecutionLooks())
    }

    /// Waits for unfinished captures and reports, up to a limit: the next watchdogd would start them again.
    private func reexecute(after earlier: ReexecutionLooks) {
        guard !daemon.isStopping, !isLeaving else { return }
        // Before running commands are ended: the next watchdogd would start them again.
        if let obstacle = Reexecution.obstacle {
            return daemon.announcer.say("\(obstacle); this watchdogd keeps running")
        }
        var looks = earlier
        switch looks.look(isBusy: daemon.host.isBusy, threadsBeyondSignals: ProcessCondition.threadsBeyondSignals()) {
        case .execute: break
        case .refuse(let reason):
            return daemon.announcer.say("cannot execute the program again: \(reason); this watchdogd keeps running")
        case .lookAgain:
            retry = try? daemon.host.loop.timer { [unowned self, looks] _ in reexecute(after: looks) }
            retry?.arm(at: daemon.host.loop.now + ReexecutionLooks.interval)
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
