// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogLinux

/// The stacks of processes that belong to others, read from outside on a thread of its own.
///
/// Threads that run have no stack, because only a stop would show it. All have ended after ``time``, whatever the kernel
/// does.
///
/// Isolation: may be used from any thread.
public final class TrailCapture: Sendable {
    /// How long everything may take.
    static let time = Duration.milliseconds(400)

    private struct State {
        var running: Int
        var onEnd: (@Sendable () -> Void)?
    }

    private let captures: [TreeCapture]
    private let state: Mutex<State>

    /// - Parameter groups: the processes of each tenant.
    init(
        _ groups: [(tenant: Tenant, processes: [ProcessStat])], _ scheduling: CaptureThreadConfiguration.Scheduling,
        _ seats: ThreadSeats, _ copiers: Copiers
    ) {
        var limits = TreeLimits()
        limits.time = Self.time
        captures = groups.map { tenant, processes in
            var request = TreeCapture.Request(
                members: .listed(processes), main: 0, preferred: processes.map(\.id), tenant: tenant)
            request.stopsRunning = false
            return TreeCapture(request, scheduling, seats, copiers, limits: limits)
        }
        state = Mutex(State(running: captures.count))
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
        let onEnd = state.withLock { state in
            state.running -= 1
            return state.running == 0 ? state.onEnd.take() : nil
        }
        onEnd?()
    }

    /// Calls a closure once the stacks are there, at once or on another thread; to be called once.
    public func whenEnded(_ call: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if state.running > 0 { state.onEnd = call }
            return state.running == 0
        }
        if hasEnded { call() }
    }

    /// Takes the stacks that are there; to be called once.
    public func end() -> TreeSnapshot {
        captures.reduce(into: TreeSnapshot()) { all, capture in
            let snapshot = capture.end()
            all.members += snapshot.members
            all.notes += snapshot.notes
        }
    }
}
