// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// The stacks of processes that belong to others, read from outside on a thread of its own.
///
/// Threads that run have no stack, because only a stop would show it.
///
/// Isolation: may be used from any thread.
public final class TrailCapture: Sendable {
    /// How long everything may take.
    static let time = Duration.milliseconds(400)

    private let captures: [TreeCapture]
    private let isOver = PosixSemaphore()

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
        for capture in captures {
            let isOver = isOver
            let thread = try? CaptureWorker.start {
                capture.run()
                isOver.signal()
            }
            thread?.detach()
            if thread == nil { isOver.signal() }
        }
    }

    /// Waits for the stacks, at most as long as ``time``, and takes them; to be called once, never on the loop.
    public func end() -> TreeSnapshot {
        for _ in captures { isOver.wait() }
        return captures.reduce(into: TreeSnapshot()) { all, capture in
            let snapshot = capture.end()
            all.members += snapshot.members
            all.notes += snapshot.notes
        }
    }
}
