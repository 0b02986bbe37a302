// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogPolicy
import WatchdogReport

extension RunSummary.Launch {
    /// Adds the app's own reports to the launch.
    func adding(_ trace: LaunchTrace, launchedAt: Instant?, ready: Duration?) -> Self {
        var launch = self
        launch.add(trace, launchedAt: launchedAt, ready: ready)
        return launch
    }

    private mutating func add(_ trace: LaunchTrace, launchedAt: Instant?, ready: Duration?) {
        guard let launchedAt else { return }
        firstFrameMilliseconds = trace.firstFrame.map { ($0 - launchedAt).milliseconds }
        usefulMilliseconds = trace.useful.map { ($0 - launchedAt).milliseconds }
        extendedMilliseconds = ready.flatMap { trace.extended(launchedAt: launchedAt, ready: $0) }?.milliseconds
        if !trace.tasks.isEmpty {
            tasks = trace.tasks.map { task in
                RunSummary.Task(
                    name: task.name,
                    startMilliseconds: (task.start - launchedAt).milliseconds,
                    milliseconds: task.end.map { ($0 - task.start).milliseconds })
            }
        }
        if let ready {
            let all = LaunchPhases(trace, launchedAt: launchedAt, until: launchedAt + ready, isReady: true).phases
            phases = all.map { RunSummary.Phase($0) }
        }
        signpostsLost = trace.lost > 0 ? trace.lost : nil
        guard !trace.intervals.isEmpty else { return }
        signposts = trace.intervals.map { interval in
            RunSummary.Signpost(
                category: interval.category,
                name: interval.name,
                startMilliseconds: (interval.start - launchedAt).milliseconds,
                milliseconds: interval.end.map { ($0 - interval.start).milliseconds },
                kind: interval.isEvent ? "event" : "interval",
                isOnMainThread: interval.isOnMainThread
            )
        }
    }
}

extension RunSummary.UnfinishedLaunch {
    /// Nil for a launch that was completed.
    init?(_ trace: LaunchTrace, launchedAt: Instant, _ end: LaunchPicture.End, after duration: Duration) {
        guard end != .ready else { return nil }
        let over = launchedAt + duration
        milliseconds = duration.milliseconds
        phases = LaunchPhases(trace, launchedAt: launchedAt, until: over, isReady: false).phases
            .map { RunSummary.Phase($0) }
    }
}

extension RunSummary.Lifecycle {
    /// Nil for a program that does not take part in the lifecycle and never left the foreground.
    init?(_ record: LifecycleRecord, launchedAt: Instant?) {
        let wasMoved = record.moments.contains { [.background, .suspended].contains($0.state) }
        guard let launchedAt, record.takesPart || wasMoved else { return nil }
        self.init(
            takesPart: record.takesPart,
            history: record.moments.map {
                Moment(state: $0.state.rawValue, milliseconds: ($0.at - launchedAt).milliseconds)
            },
            backgroundTasks: record.taskCount,
            openTasks: record.openTasks.prefix(64).map { $0.name.singleLine(limit: 128) },
            resumes: Resumes(
                count: record.resumes.count,
                p50Milliseconds: record.resumes.quantile(0.5)?.milliseconds,
                maxMilliseconds: record.resumes.count > 0 ? record.resumes.maximum.milliseconds : nil),
            mistakes: record.mistakes.total
        )
    }
}
