// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Synchronization

/// The measurements that a sample app makes of itself.
///
/// Isolation: any thread.
package final class LaunchRecord: Sendable {
    /// A named piece of work.
    package struct Interval: Sendable {
        package let name: String
        package let start: Duration
        package let end: Duration
        /// The CPU time of the thread.
        package let running: Duration
        /// The time in which the thread was runnable without a CPU.
        package let waiting: Duration
        package let isOnMain: Bool

        package init(
            name: String, start: Duration, end: Duration, running: Duration, waiting: Duration = .zero, isOnMain: Bool
        ) {
            (self.name, self.start, self.end) = (name, start, end)
            (self.running, self.waiting, self.isOnMain) = (running, waiting, isOnMain)
        }

        package var duration: Duration { end - start }
        package var blocked: Duration { max(.zero, duration - running - waiting) }
    }

    fileprivate struct State {
        var firstFrame: Duration?
        var useful: Duration?
        var complete: Duration?
        var intervals: [Interval] = []
        var mainBusy: Duration = .zero
        var latencies: [Duration] = []
        var notes: [(name: String, value: String)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func add(_ interval: Interval) { state.withLock { $0.intervals.append(interval) } }

    /// A fact about this run that is not a time.
    package func note(_ name: String, _ value: String) {
        state.withLock { state in
            state.notes.removeAll { $0.name == name }
            state.notes.append((name, value))
        }
    }

    func addMainWork(_ duration: Duration) { state.withLock { $0.mainBusy += duration } }

    func addLatency(_ latency: Duration) { state.withLock { $0.latencies.append(latency) } }

    /// Sets a time once; nil if it was set before.
    func mark(_ milestone: Milestone, at now: Duration = ProcessClock.now) -> Duration? {
        state.withLock { state in
            let path = milestone.path
            guard state[keyPath: path] == nil else { return nil }
            state[keyPath: path] = now
            return now
        }
    }

    enum Milestone: String {
        case firstFrame = "first frame"
        case useful
        case complete

        fileprivate var path: WritableKeyPath<State, Duration?> {
            switch self {
            case .firstFrame: \.firstFrame
            case .useful: \.useful
            case .complete: \.complete
            }
        }
    }

    package var latencies: [Duration] { state.withLock { $0.latencies.sorted() } }

    /// The latency that this share of the touches did not exceed; nil without touches.
    package static func percentile(_ share: Double, of sorted: [Duration]) -> Duration? {
        guard !sorted.isEmpty else { return nil }
        return sorted[min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)]
    }

    /// `NAME=VALUE` lines; times in milliseconds from the start of the process.
    package var text: String {
        let state = state.withLock { $0 }
        var lines: [String] = []
        func add(_ name: String, _ duration: Duration?) {
            guard let duration else { return }
            lines.append("\(name)=\(Double(Int((duration.seconds * 1e4).rounded())) / 10)")
        }
        add("first-frame", state.firstFrame)
        add("useful", state.useful)
        add("complete", state.complete)
        if let firstFrame = state.firstFrame {
            if let useful = state.useful { add("useless", max(.zero, useful - firstFrame)) }
            // Until the first frame, main is inside a launch callback and handles no events, so all of that time is
            // blocked.
            let end = max(state.complete ?? ProcessClock.now, firstFrame)
            let share = (firstFrame + state.mainBusy).seconds / max(end.seconds, 1e-9)
            lines.append("main-blocked=\(min(100, Int((100 * share).rounded())))%")
        }
        for interval in state.intervals {
            add("interval.\(interval.name)", interval.duration)
            if interval.isOnMain {
                add("running.\(interval.name)", interval.running)
                add("blocked.\(interval.name)", interval.blocked)
            }
        }
        let sorted = state.latencies.sorted()
        if !sorted.isEmpty {
            lines.append("touches=\(sorted.count)")
            add("touch.p50", Self.percentile(0.5, of: sorted))
            add("touch.p99", Self.percentile(0.99, of: sorted))
            add("touch.max", sorted.last)
        }
        lines += state.notes.map { "\($0.name)=\($0.value)" }
        return lines.map { "\($0)\n" }.joined()
    }
}
