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

    private let capture: TreeCapture
    private let isOver = PosixSemaphore()

    init(
        _ processes: [ProcessStat], for tenant: Tenant, _ scheduling: CaptureThreadConfiguration.Scheduling,
        _ seats: ThreadSeats, _ copiers: Copiers
    ) {
        var request = TreeCapture.Request(
            members: .listed(processes), main: 0, preferred: processes.map(\.id), tenant: tenant)
        request.stopsRunning = false
        var limits = TreeLimits()
        limits.time = Self.time
        let capture = TreeCapture(request, scheduling, seats, copiers, limits: limits)
        self.capture = capture
        let isOver = isOver
        let thread = try? CaptureWorker.start {
            capture.run()
            isOver.signal()
        }
        thread?.detach()
        if thread == nil { isOver.signal() }
    }

    /// Waits for the stacks, at most as long as ``time``, and takes them; to be called once, never on the loop.
    public func end() -> TreeSnapshot {
        isOver.wait()
        return capture.end()
    }
}
