// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The note about a recording of a wrapper: a process that waited for another program, which it had started.
enum WrapperNote {
    /// Calls in which a process waits for a child.
    private static let waits: Set<String> = [
        "wait4", "waitid", "rt_sigsuspend", "rt_sigtimedwait", "pause",
    ]

    /// The process for which the launched one waited.
    private struct Child {
        var lane: ThreadLane
        /// The CPU time of all its threads.
        var running: Duration
    }

    /// The note; nil if the launched process itself did most of the work.
    static func sentence(_ log: LaunchLog, _ timeline: RecordTimeline, _ lanes: [ThreadLane]) -> String? {
        guard let main = lanes.first(where: { $0.threadID == log.process }), let execution = log.executions.last,
            let child = child(log, timeline, lanes, main, since: execution.time - log.requested)
        else { return nil }
        let wrapper = execution.path.split(separator: "/").last.map(String.init) ?? main.name
        guard !child.lane.name.isEmpty else { return nil }
        return "The phases and the end are those of \(wrapper) [\(log.process)], which waited for \(child.lane.name) "
            + "[\(child.lane.processID)], a process of its own. To see that program's, record its command directly, "
            + "without \(wrapper)."
    }

    private static func child(
        _ log: LaunchLog, _ timeline: RecordTimeline, _ lanes: [ThreadLane], _ main: ThreadLane, since begin: Duration
    ) -> Child? {
        let end = min(main.end ?? .nanoseconds(Int64.max), log.stopped - log.requested)
        let executed = executions(timeline)
        let processes = lanes.filter { lane in
            guard lane.threadID == lane.processID, lane.processID != log.process else { return false }
            guard log.rung <= .b else { return true }
            let life = min(lane.end ?? end, end) - lane.begin
            return lane.begin >= begin && executed.contains(lane.processID) && life * 2 >= end - begin
                && waited(main, from: lane.begin, to: lane.begin + life) * 2 >= life
        }
        if log.rung > .b {
            guard let look = log.looks.last(where: { $0.thread == log.process }), waits.contains(look.call) else {
                return nil
            }
        }
        return processes.map { lane in
            let threads = lanes.filter { $0.processID == lane.processID }
            return Child(lane: lane, running: threads.reduce(.zero) { $0 + running($1) })
        }.max { $0.running < $1.running }
    }

    private static func running(_ lane: ThreadLane) -> Duration {
        guard !lane.spans.isEmpty else { return lane.accounting?.running ?? .zero }
        return lane.spans.filter { $0.state == .running }.reduce(.zero) { $0 + ($1.end - $1.begin) }
    }

    private static func waited(_ main: ThreadLane, from begin: Duration, to end: Duration) -> Duration {
        main.spans.filter { $0.call.map { waits.contains(String($0)) } ?? false }.reduce(.zero) {
            $0 + max(min($1.end, end) - max($1.begin, begin), .zero)
        }
    }

    /// The processes that executed a program.
    private static func executions(_ timeline: RecordTimeline) -> Set<Int32> {
        Set(
            timeline.records.compactMap { record in
                guard case .name(_, isExec: true) = record.body else { return nil }
                return record.process
            })
    }
}
