// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// What the records of a launch are made from.
struct LaunchSubject {
    /// The app's name.
    let app: String
    /// The machine's name.
    let host: String
    /// Nil if nothing was launched.
    let requested: LaunchMoment?
    let launchedAt: Instant?
    /// How long it took until the app was ready.
    let ready: Duration?
    let trace: LaunchTrace
    var phases: [LaunchPhaseName: Duration] = [:]

    /// The record of the launch, with what is known now.
    func record(outcome: KeptLaunch.Outcome, _ notes: LaunchNotes) -> KeptLaunch {
        var moments: [KeptLaunch.Moment: Duration] = [:]
        var tasks: [KeptLaunch.Task] = []
        if let requested, let launchedAt {
            let time = { (instant: Instant?) in instant.map { max(.zero, $0 - requested.instant) } }
            moments[.exec] = time(launchedAt)
            moments[.hello] = time(trace.hello)
            moments[.firstFrame] = time(trace.firstFrame)
            moments[.useful] = time(trace.useful)
            moments[.ready] = time(ready.map { launchedAt + $0 })
            if let ready { moments[.extended] = time(extended(launchedAt, ready).map { launchedAt + $0 }) }
            tasks = self.tasks(since: requested.instant)
        }
        return KeptLaunch(
            app: app, time: requested?.time ?? .now(), outcome: outcome, cause: notes.cause, version: notes.version,
            host: host, moments: moments, tasks: tasks, phases: phases)
    }

    /// What completes the record of the launch; nil if nothing does.
    func completion(_ moments: [KeptLaunch.Moment: Duration]) -> LaunchCompletion? {
        guard let requested, let launchedAt else { return nil }
        var moments = moments
        if moments[.extended] != nil, !knowsTasks { moments[.extended] = nil }
        // Whatever else became known of them is known when the last one ends, or the process.
        let tasks = moments[.extended] != nil || moments.isEmpty ? tasks(since: launchedAt) : []
        guard !moments.isEmpty || !tasks.isEmpty else { return nil }
        return LaunchCompletion(app: app, time: requested.time, host: host, moments: moments, tasks: tasks)
    }

    /// Another watchdogd, which began the launch, may have seen tasks of which this one knows nothing.
    private var knowsTasks: Bool { trace.requested != nil }

    private func extended(_ launchedAt: Instant, _ ready: Duration) -> Duration? {
        knowsTasks ? trace.extended(launchedAt: launchedAt, ready: ready) : nil
    }

    private func tasks(since begin: Instant) -> [KeptLaunch.Task] {
        guard knowsTasks else { return [] }
        return trace.tasks.map { task in
            KeptLaunch.Task(
                name: task.name, begin: max(.zero, task.start - begin), end: task.end.map { max(.zero, $0 - begin) })
        }
    }
}

extension LaunchSubject {
    init(_ launch: AppLaunch, host: String) {
        let supervisor = launch.supervisor
        self.init(
            app: launch.shell.configuration.name, host: host, requested: launch.shell.tree.launched,
            launchedAt: supervisor.machine.launchedAt, ready: supervisor.machine.launchDuration,
            trace: supervisor.trace, phases: launch.phases)
    }
}
