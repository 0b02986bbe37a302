// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Converts records to lanes.
struct LaneDecoder {
    private struct Open {
        var lane: ThreadLane
        var state: LaneSpan.State?
        var since: Int64
        var processor: Int?
        var detail: String?
        var lastCall: String?
        var isGone = false
        /// Its time on a CPU and waiting for one after its exit record, according to the scheduler's records.
        var afterExit = ThreadTime()
        var exitState: (isRunning: Bool, since: Int64)?
    }

    /// The maximum number of spans; more would exceed the size of a file.
    static let spanLimit = 300_000

    private var spanCount = 0
    private let log: LaunchLog
    private let isWide: Bool
    private let timeline: RecordTimeline
    private var lanes: [Int32: Open] = [:]
    private var order: [Int32] = []

    /// The lanes of a log, in order of their start; none on a rung without records.
    static func lanes(of log: LaunchLog, _ timeline: RecordTimeline) -> [ThreadLane] {
        guard log.rung <= .b else { return bareLanes(of: log) }
        var decoder = LaneDecoder(log: log, isWide: log.rung == .a, timeline: timeline)
        return decoder.decode()
    }

    private init(log: LaunchLog, isWide: Bool, timeline: RecordTimeline) {
        self.log = log
        self.isWide = isWide
        self.timeline = timeline
    }

    private mutating func decode() -> [ThreadLane] {
        // Per-task events start at its execve(2); CPU-wide ones include its wait for the request.
        let begin = isWide ? log.requested.nanoseconds : (firstExecution ?? log.requested.nanoseconds)
        open(log.process, of: log.process, at: begin, as: isWide ? .blocked : .running)
        for record in timeline.records where record.time >= begin { take(record) }
        for thread in order { close(thread, at: log.stopped.nanoseconds) }
        let facts = Dictionary(log.threads.map { ($0.thread, $0) }) { first, _ in first }
        return order.compactMap { thread in
            guard let opened = lanes[thread] else { return nil }
            var lane = opened.lane
            if let known = facts[thread], known.process == lane.processID {
                if lane.name.isEmpty { lane.name = known.name }
                lane.scheduling = known.scheduling
                lane.accounting = known.accounting.map { $0.without(opened.afterExit) }
            }
            addLooks(to: &lane)
            nameStops(in: &lane)
            return lane
        }
    }

    private var firstExecution: Int64? {
        for record in timeline.records {
            if case .name(_, isExec: true) = record.body, record.process == log.process { return record.time }
        }
        return nil
    }

    private func offset(_ time: Int64) -> Duration { .nanoseconds(time - log.requested.nanoseconds) }

    private mutating func open(
        _ thread: Int32, of process: Int32, at time: Int64, as state: LaneSpan.State, named name: String? = nil
    ) {
        // The kernel may reuse a thread ID; the lane shows the first thread with it.
        guard lanes[thread] == nil, order.count < 1 << 16 else { return }
        order.append(thread)
        lanes[thread] = Open(
            lane: ThreadLane(threadID: thread, processID: process, name: name ?? "", begin: offset(time)),
            state: state, since: time)
    }

    private mutating func take(_ record: PerfRecord) {
        switch record.body {
        case .created(let process, let thread, let parent):
            open(thread, of: process, at: record.time, as: .runnable, named: lanes[parent]?.lane.name)
        case .name(let name, _): lanes[record.thread]?.lane.name = name
        case .exit(let thread):
            // Switches of the thread still follow its exit record.
            close(thread, at: record.time)
            let end = offset(record.time)
            lanes[thread]?.isGone = true
            lanes[thread]?.lane.end = end
            lanes[thread]?.exitState = (true, record.time)
        case .systemCall(let number):
            let name = log.callNames[number] ?? "system call \(number)"
            lanes[record.thread]?.lastCall = name
        case .waking(let thread, let isByInterrupt):
            wake(thread, by: isByInterrupt ? nil : record.thread, at: record.time)
        case .scheduled(let change) where isWide:
            leave(change.previousThread, at: record.time, state: change.previousState)
            enter(change.nextThread, at: record.time, on: record.processor)
        case .contextSwitch(let isOut, let isPreempted) where isWide:
            takeSecond(record, isOut: isOut, isPreempted: isPreempted)
        case .contextSwitch(let isOut, let isPreempted):
            if isOut {
                change(record.thread, to: isPreempted ? .preempted : .blockedOrRunnable, at: record.time)
            } else {
                enter(record.thread, at: record.time, on: record.processor)
            }
        default: break
        }
    }

    /// Handles the task's own record of a switch, which follows the scheduler's, and matters only if that one is
    /// missing.
    ///
    /// Observed on Linux 6.18: on one of two CPUs, tracepoints recorded no switch from idle and no wake-up by an
    /// interrupt, and did not count them as lost. The records of the task itself were complete.
    private mutating func takeSecond(_ record: PerfRecord, isOut: Bool, isPreempted: Bool) {
        guard let state = lanes[record.thread]?.state, isOut == (state == .running) else { return }
        if isOut {
            leave(record.thread, at: record.time, state: isPreempted ? 0 : 1)
        } else {
            enter(record.thread, at: record.time, on: record.processor)
        }
    }

    private mutating func enter(_ thread: Int32, at time: Int64, on processor: Int) {
        if lanes[thread]?.isGone == true { return changeAfterExit(thread, isRunning: true, at: time) }
        change(thread, to: .running, at: time)
        lanes[thread]?.processor = processor
    }

    /// Accounts for the time after the exit record: the kernel's account of a thread includes its exit, and therefore
    /// the closing of the recorder's events.
    private mutating func changeAfterExit(_ thread: Int32, isRunning: Bool?, at time: Int64) {
        if let (wasRunning, since) = lanes[thread]?.exitState, time > since {
            if wasRunning {
                lanes[thread]?.afterExit.running += .nanoseconds(time - since)
            } else {
                lanes[thread]?.afterExit.waiting += .nanoseconds(time - since)
            }
        }
        lanes[thread]?.exitState = isRunning.map { ($0, time) }
    }

    /// - Parameter state: `prev_state`; its low byte is the same on all kernels: 0 is runnable, 2 is uninterruptible, 4
    ///   and 8 are stopped and traced.
    private mutating func leave(_ thread: Int32, at time: Int64, state: Int64) {
        if lanes[thread]?.isGone == true {
            return changeAfterExit(thread, isRunning: state & 0xff == 0 ? false : nil, at: time)
        }
        let call = lanes[thread]?.lastCall
        change(thread, to: state & 0xff == 0 ? .preempted : .blocked, at: time)
        guard state & 0xff != 0 else { return }
        // The letters of TASK_REPORT: D, t, T; include/linux/sched.h.
        let detail: String?
        switch state {
        case _ where state & 2 != 0: detail = call.map { "\($0), uninterruptible" } ?? "uninterruptible"
        case _ where state & 8 != 0: detail = LaneSpan.recorderStop
        case _ where state & 4 != 0: detail = "stopped by a signal"
        default: detail = call
        }
        lanes[thread]?.detail = detail
    }

    private mutating func wake(_ thread: Int32, by waker: Int32?, at time: Int64) {
        guard let lane = lanes[thread], lane.state == .blocked, !lane.isGone else { return }
        change(thread, to: .runnable, at: time)
        guard let index = lanes[thread]?.lane.spans.indices.last else { return }
        let found = waker.map { self.waker($0) } ?? .interrupt
        lanes[thread]?.lane.spans[index].waker = found
    }

    private func waker(_ thread: Int32) -> Waker {
        let known = timeline.wakers[thread]
        let name = lanes[thread]?.lane.name ?? known?.name ?? ""
        // 100 to 139 are nice -20 to 19; lower values are real-time priorities.
        let nice = known.flatMap { (100...139).contains($0.priority) ? $0.priority - 120 : nil }
        return .thread(id: thread, name: name, nice: nice, isOwn: timeline.ownThreads.contains(thread))
    }

    private mutating func change(_ thread: Int32, to state: LaneSpan.State?, at time: Int64) {
        guard var lane = lanes[thread], !lane.isGone else { return }
        if let old = lane.state, time > lane.since, spanCount < Self.spanLimit {
            spanCount += 1
            lane.lane.spans.append(
                LaneSpan(
                    state: old, begin: offset(lane.since), end: offset(time), detail: lane.detail,
                    processor: old == .running ? lane.processor : nil))
        }
        lane.detail = nil
        lane.state = state
        lane.since = max(time, lane.since)
        lanes[thread] = lane
    }

    private mutating func close(_ thread: Int32, at time: Int64) { change(thread, to: nil, at: time) }

    /// Adds the calls that polling observed, for spans without one from a tracepoint, and what they waited for.
    private func addLooks(to lane: inout ThreadLane) {
        for look in log.looks where look.thread == lane.threadID {
            let time = look.time - log.requested
            guard let index = lane.spans.firstIndex(where: { $0.begin <= time && time < $0.end }) else { continue }
            let isBlocked = lane.spans[index].state == .blocked || lane.spans[index].state == .blockedOrRunnable
            guard isBlocked else { continue }
            let detail = lane.spans[index].detail ?? look.call
            lane.spans[index].detail = look.subject.flatMap { Self.detail(detail, of: look.call, for: $0) } ?? detail
        }
    }

    /// `read (fd 3: pipe), uninterruptible` of `read, uninterruptible`; nil if the span is blocked in another call.
    private static func detail(_ detail: String, of call: String, for subject: String) -> String? {
        guard detail == call || detail.hasPrefix("\(call), ") else { return nil }
        return "\(call) (\(subject))\(detail.dropFirst(call.count))"
    }

    /// Marks the recorder's stops, which the records do not distinguish from the program's own blocks.
    private func nameStops(in lane: inout ThreadLane) {
        guard lane.threadID == log.process else { return }
        guard !isWide else { return nameHold(in: &lane) }
        let stops = log.executions.map { ($0.time, $0.released) } + log.stops.map { ($0.time, $0.released) }
        for (time, released) in stops {
            guard let released else { continue }
            let begin = time - log.requested
            let end = released - log.requested
            for index in lane.spans.indices
            where lane.spans[index].state == .blockedOrRunnable && lane.spans[index].begin < end
                && lane.spans[index].end > begin && lane.spans[index].detail == nil
            {
                lane.spans[index].detail = LaneSpan.recorderStop
            }
        }
    }

    /// Marks the first block of the lane: the recorder holds the program until the request.
    private func nameHold(in lane: inout ThreadLane) {
        guard let first = lane.spans.first, first.state == .blocked, first.detail == nil,
            let executed = firstExecution ?? log.executions.first?.time.nanoseconds, first.end <= offset(executed)
        else { return }
        lane.spans[0].detail = LaneSpan.recorderStop
    }

    /// The lanes of a rung without records: the names and accounts from `/proc` at the end.
    private static func bareLanes(of log: LaunchLog) -> [ThreadLane] {
        log.threads.map { facts in
            ThreadLane(
                threadID: facts.thread, processID: facts.process, name: facts.name, scheduling: facts.scheduling,
                begin: .zero, accounting: facts.accounting)
        }
    }
}

extension ThreadTime {
    fileprivate func without(_ part: ThreadTime) -> ThreadTime {
        var time = self
        time.running = max(running - part.running, .zero)
        time.waiting = max(waiting - part.waiting, .zero)
        return time
    }
}

extension ThreadLane {
    /// The thread's use of a period, without the recorder's stops; nil if the lane does not cover it.
    func time(from begin: Duration, to end: Duration) -> ThreadTime? {
        // An exited thread uses no time.
        guard let first = spans.first, let last = spans.last, first.begin <= begin,
            last.end >= end || (last.end == self.end && last.end > begin)
        else { return nil }
        var time = ThreadTime()
        for span in spans where span.begin < end && span.end > begin && !span.isRecorderStop {
            let length = min(span.end, end) - max(span.begin, begin)
            switch span.state {
            case .running: time.running += length
            case .preempted, .runnable: time.waiting += length
            case .blocked, .blockedOrRunnable: time.blocked += length
            }
        }
        return time
    }
}
