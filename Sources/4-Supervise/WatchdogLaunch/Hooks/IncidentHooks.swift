// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogConfiguration
import WatchdogLinux
import WatchdogReport

/// Runs the commands of `OnIncident=` and `--on-incident`, each in a cgroup of its own and for a limited time.
///
/// Launches do not wait for hooks, and hooks survive the end of a launch.
///
/// Isolation: the loop's thread.
package final class IncidentHooks {
    /// The maximum number of running hooks; the others wait.
    static let runningLimit = 4
    /// The lane of ``BlockingWork``: one for all hooks, so that a hung file system can block only its threads.
    private static let lane = -1

    private struct Waiting {
        let request: HookRequest
        let facts: HookFacts
        let dropped: Int
    }

    private struct Running {
        let app: String
        let process: CommandProcess
        let cgroup: Cgroup?
    }

    private unowned let host: Host
    private var bound = HookLimit()
    private var waiting: [Waiting] = []
    private var running: [Int: Running] = [:]
    /// Hooks whose configuration is being looked up.
    private var lookups = 0
    private var lastNumber = 0

    /// Called when the last hook has ended.
    package var onIdle: () -> Void = {}

    init(_ host: Host) { self.host = host }

    /// Whether no hook runs or waits.
    package var isIdle: Bool { running.isEmpty && waiting.isEmpty && lookups == 0 }

    /// The processes of the running hooks.
    var children: [Int32] { running.values.compactMap(\.process.pid) }

    /// Handles the ends of hooks.
    func reap() {
        for hook in running.values { hook.process.reap() }
    }

    // MARK: - Starting

    /// Runs the hook of an app for an incident, if it has one and the incident calls for it; checks the app's files off
    /// the loop before.
    package func run(of app: AppConfiguration?, scope: DaemonPlaces.Scope, for facts: HookFacts?) {
        guard let app, let hook = app.watchdog.incidentHook, let facts, hook.admits(facts),
            let dropped = admit(facts)
        else { return }
        lookups += 1
        host.work.run(in: Self.lane, within: .seconds(5)) {
            Result { () throws(LaunchRefusal) in try HookRequest(hook, of: app, scope: scope) }
        } then: { [unowned self] (result: Result<HookRequest, LaunchRefusal>?) in
            lookups -= 1
            switch result {
            case .success(let request): enqueue(Waiting(request: request, facts: facts, dropped: dropped))
            case .failure(let refusal): fail(facts, "\(refusal)")
            case nil: fail(facts, "its file or user was not found in time")
            }
            tellIfIdle()
        }
    }

    /// Runs the hook of the command line with watchdogd's rights, or else that of the app, if the incident calls for it.
    package func run(_ hook: IncidentHook?, orOf app: AppConfiguration?, for facts: HookFacts?) {
        guard let hook else { return run(of: app, scope: .ofThisUser, for: facts) }
        if let facts, hook.admits(facts) { run(HookRequest(hook), for: facts) }
    }

    package func run(_ request: HookRequest, for facts: HookFacts) {
        guard let dropped = admit(facts) else { return }
        enqueue(Waiting(request: request, facts: facts, dropped: dropped))
    }

    private func enqueue(_ hook: Waiting) {
        waiting.append(hook)
        startNext()
    }

    /// Applies the rate limit; returns how many incidents had no hook before this one, or nil if this one is dropped,
    /// too.
    private func admit(_ facts: HookFacts) -> Int? {
        switch bound.admit(facts.limitKey, current: running.count + waiting.count + lookups, at: host.loop.now) {
        case .run(let dropped): return dropped
        case .drop(let isFirst):
            if isFirst {
                say(facts, "skipped: too many incidents; the next run gets the count in WATCHDOGD_DROPPED")
            }
            return nil
        }
    }

    /// Starts waiting hooks in order, but only one of each app at a time, so that one app's slow hooks do not delay the
    /// others.
    private func startNext() {
        while running.count < Self.runningLimit,
            let index = waiting.firstIndex(where: { hook in !running.values.contains { $0.app == hook.facts.app } })
        {
            // A hook that cannot be started leaves its place to the next.
            start(waiting.remove(at: index))
        }
    }

    private func start(_ hook: Waiting) {
        lastNumber += 1
        let number = lastNumber
        let cgroup = host.makeCgroup(for: CommandKind.hook.cgroupName(.random())).cgroup
        do {
            let null = try host.system.openNull()
            let process = try CommandProcess(
                hook.request.filled(with: hook.facts, dropped: hook.dropped, null: null), in: cgroup, on: host,
                limit: hook.request.limit,
                onEnd: { [unowned self] result in ended(number, hook, result) })
            withExtendedLifetime(null) {
                running[number] = Running(app: hook.facts.app, process: process, cgroup: cgroup)
            }
        } catch {
            retire(cgroup)
            fail(hook.facts, "\(error)")
        }
    }

    private func ended(_ number: Int, _ started: Waiting, _ result: Result<ExitStatus, any Error>) {
        guard let hook = running.removeValue(forKey: number) else { return }
        let facts = started.facts
        switch result {
        case .success where hook.process.hasTimedOut:
            fail(facts, "killed after \(TimeSpan.text(started.request.limit))")
        case .success(.exited(code: 0)): break
        case .success(.exited(let code)): fail(facts, "exit code \(code)")
        case .success(let status): fail(facts, status.words)
        case .failure(let error): fail(facts, "\(error)")
        }
        retire(hook.cgroup)
        startNext()
        tellIfIdle()
    }

    private func tellIfIdle() {
        if isIdle { onIdle() }
    }

    /// Removes the cgroup of a finished hook; while it still has dying processes, the host retries.
    private func retire(_ cgroup: Cgroup?) {
        guard let cgroup, (try? cgroup.remove()) == nil else { return }
        host.spentCgroups.append(cgroup)
    }

    /// Kills all hooks without a callback.
    package func stop() {
        for hook in running.values {
            hook.process.cancel()
            retire(hook.cgroup)
        }
        running = [:]
        waiting = []
    }

    // MARK: - Telling

    private func fail(_ facts: HookFacts, _ reason: String) { say(facts, "failed: \(reason)") }

    private func say(_ facts: HookFacts, _ words: String) {
        host.log.tell(nil, line: "\(facts.app.singleLine(limit: 64)): OnIncident= (run: --on-incident) \(words)")
    }
}

extension IncidentHook {
    /// Whether the hook runs for an incident.
    fileprivate func admits(_ facts: HookFacts) -> Bool { includesHangs || !facts.isHang }
}
