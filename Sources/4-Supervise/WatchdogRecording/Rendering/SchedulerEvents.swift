// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// Lanes turned back into what the kernel's tracepoints reported.
struct SchedulerEvents {
    /// One event on one CPU.
    enum Event: Equatable {
        /// The CPU switches from one thread to another; 0 is a thread outside the recording.
        case switched(from: Int32, state: State, to: Int32)
        /// A thread becomes runnable. An interrupt wakes as thread 0.
        case waking(thread: Int32, by: Int32, isInterrupt: Bool)
    }

    /// `prev_state` of sched_switch: the bits that Linux has reported since 4.14 (`TASK_REPORT`).
    enum State: Int64 {
        case runnable = 0
        case interruptible = 1
        case uninterruptible = 2
        case dead = 16
    }

    /// An event with its time.
    struct Entry: Equatable {
        let time: Duration
        let processor: Int
        let event: Event
    }

    /// In order of time.
    private(set) var entries: [Entry] = []

    init(_ recording: LaunchRecording) {
        var intervals: [Interval] = []
        for lane in recording.lanes {
            for (index, span) in lane.spans.enumerated() where span.end > span.begin {
                let next = index + 1 < lane.spans.count ? lane.spans[index + 1] : nil
                if span.state == .running {
                    intervals.append(
                        Interval(
                            span: span, thread: lane.threadID,
                            state: Self.state(after: next, isEnd: lane.end == span.end)))
                } else if let waker = span.waker, next != nil {
                    entries.append(
                        Entry(time: span.end, processor: next?.processor ?? 0, event: Self.waking(lane.threadID, waker))
                    )
                }
            }
        }
        intervals.sort { ($0.span.begin, $0.thread) < ($1.span.begin, $1.thread) }
        appendSwitches(intervals)
        // A thread wakes before its CPU switches to it.
        entries.sort { ($0.time, $0.event.rank) < ($1.time, $1.event.rank) }
    }

    /// A time on a CPU.
    private struct Interval {
        let span: LaneSpan
        let thread: Int32
        /// The thread's state after it.
        let state: State
    }

    private static func state(after next: LaneSpan?, isEnd: Bool) -> State {
        guard let next else { return isEnd ? .dead : .interruptible }
        switch next.state {
        case .running, .preempted, .runnable: return .runnable
        case .blocked, .blockedOrRunnable:
            return isUninterruptible(next.detail) ? .uninterruptible : .interruptible
        }
    }

    private static func isUninterruptible(_ detail: String?) -> Bool {
        detail?.hasSuffix("uninterruptible") ?? false
    }

    private static func waking(_ thread: Int32, _ waker: Waker) -> Event {
        switch waker {
        case .interrupt: .waking(thread: thread, by: 0, isInterrupt: true)
        case .thread(let id, _, _, _): .waking(thread: thread, by: id, isInterrupt: false)
        }
    }

    /// Appends the switches; where a CPU is unknown or would be used twice, a CPU beyond all known ones is invented.
    private mutating func appendSwitches(_ intervals: [Interval]) {
        var last: [Int: Interval] = [:]
        let invented = 1 + (intervals.compactMap(\.span.processor).filter { 0..<4_096 ~= $0 }.max() ?? -1)
        for interval in intervals {
            let known = interval.span.processor.flatMap { 0..<4_096 ~= $0 ? $0 : nil }
            func isFree(_ processor: Int) -> Bool { last[processor].map { $0.span.end <= interval.span.begin } ?? true }
            let processor = known.flatMap { isFree($0) ? $0 : nil } ?? (invented...).first(where: isFree) ?? invented
            let previous = last[processor]
            if let previous, previous.span.end == interval.span.begin {
                put(interval.span.begin, processor, from: previous, to: interval.thread)
            } else {
                if let previous { put(previous.span.end, processor, from: previous, to: 0) }
                put(interval.span.begin, processor, from: nil, to: interval.thread)
            }
            last[processor] = interval
        }
        for (processor, interval) in last { put(interval.span.end, processor, from: interval, to: 0) }
    }

    private mutating func put(_ time: Duration, _ processor: Int, from: Interval?, to thread: Int32) {
        let event = Event.switched(from: from?.thread ?? 0, state: from?.state ?? .runnable, to: thread)
        entries.append(Entry(time: time, processor: processor, event: event))
    }
}

extension SchedulerEvents.Event {
    /// The order of events at the same time.
    fileprivate var rank: Int {
        switch self {
        case .waking: 0
        case .switched(_, _, let next): next == 0 ? 1 : 2
        }
    }
}
