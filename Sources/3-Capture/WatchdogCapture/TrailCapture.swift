// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogLinux

/// Reads the stacks of foreign processes from outside, on its own threads.
///
/// Running threads have no stack, because only a stop would show it. The look ends after ``time``, even if the kernel
/// blocks a read.
///
/// Isolation: may be used from any thread.
public final class TrailCapture: Sendable {
    /// The time limit of the whole look.
    static let time = Duration.milliseconds(400)
    /// The time for which other apps whose waits lead to the same processes share the stacks.
    static let shareTime = Duration.milliseconds(500)

    private struct State {
        var running: Int
        var result: TreeSnapshot?
    }

    private let captures: [TreeCapture]
    private let state: Mutex<State>
    private let ending = Ending()

    /// - Parameter groups: the processes of each tenant.
    init(
        _ groups: [(tenant: Tenant, processes: [ProcessStat])], _ threads: SpareThreads, _ seats: ThreadSeats,
        _ copiers: Copiers, time: Duration = TrailCapture.time
    ) {
        var limits = TreeLimits()
        limits.time = time
        captures = groups.map { tenant, processes in
            var request = TreeCapture.Request(
                members: .listed(processes), main: 0, preferred: processes.map(\.id), tenant: tenant)
            request.stopsRunning = false
            return TreeCapture(request, threads, seats, copiers, limits: limits)
        }
        state = Mutex(State(running: captures.count))
        if captures.isEmpty { ending.come() }
        for capture in captures {
            let thread = try? CaptureWorker.start { [self] in
                capture.run()
                ended()
            }
            thread?.detach()
            if thread == nil { ended() }
        }
    }

    private func ended() {
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        if isLast { ending.come() }
    }

    /// Calls a closure once the stacks are there, at once or on another thread.
    public func whenEnded(_ call: @escaping @Sendable () -> Void) { ending.whenCome(call) }

    /// The stacks that are available at the first call.
    public func end() -> TreeSnapshot {
        state.withLock { state in
            if let result = state.result { return result }
            let snapshot = captures.reduce(into: TreeSnapshot()) { all, capture in
                let snapshot = capture.end()
                all.members += snapshot.members
                all.notes += snapshot.notes
            }
            state.result = snapshot
            return snapshot
        }
    }
}

/// The latest looks at processes outside of apps, while an app retains them.
///
/// Apps that hang for one cause wait for the same process, so they share one look.
struct RecentLooks {
    /// The examined processes.
    struct Subject: Hashable {
        private let processes: Set<[UInt64]>

        init(_ processes: [ProcessStat]) {
            self.processes = Set(processes.map { [UInt64(clamping: $0.id), $0.startTime] })
        }
    }

    private struct Look {
        weak var capture: TrailCapture?
        let began: Instant
    }

    private var looks: [Subject: Look] = [:]

    /// A recent look at the same processes; nil if there is none.
    func look(at subject: Subject, at now: Instant) -> TrailCapture? {
        looks[subject].flatMap { now - $0.began < TrailCapture.shareTime ? $0.capture : nil }
    }

    /// Remembers a look, with a weak reference.
    mutating func keep(_ capture: TrailCapture, at subject: Subject, _ now: Instant) {
        looks = looks.filter { $0.value.capture != nil && now - $0.value.began < TrailCapture.shareTime }
        looks[subject] = Look(capture: capture, began: now)
    }
}
