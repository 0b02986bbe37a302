// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

extension Pidfd {
    /// How long ``end(by:)`` waits for a killed child that cannot run.
    private static let stuckLimit = Duration.milliseconds(100)
    /// How often it is looked at whether a child can run.
    private static let lookInterval = Duration.milliseconds(20)

    /// Waits until a child has exited, kills it if it has not by then, and reaps it.
    ///
    /// One that the kernel does not let go is left.
    ///
    /// - Returns: false if it is left.
    @discardableResult
    func end(by limit: Instant) -> Bool {
        guard !waitUntilExited(by: limit) else { return reapKilled(whileStuck: .zero) }
        try? send(SIGKILL)
        return reapKilled(whileStuck: Self.stuckLimit)
    }

    /// Waits until a killed child has exited, and reaps it; somebody else may do so first.
    ///
    /// As long as it can run, it exits when it gets a CPU, however long that takes on a busy machine. A child that waits in
    /// the kernel may never exit.
    ///
    /// - Parameters:
    ///   - limit: how long it may be unable to run before it is left.
    ///   - canRun: whether the process can run at present.
    /// - Returns: false if it is left.
    @discardableResult
    func reapKilled(
        whileStuck limit: Duration, canRun: (Int32) -> Bool = { Procfs.hasRunnableThread($0) }
    ) -> Bool {
        var end = Instant.now() + limit
        // An error: somebody else has reaped it.
        while wd_reap_pidfd(descriptor.number, false) == 0 {
            let isRunning = canRun(pid)
            if isRunning { end = .now() + limit }
            // It may have exited meanwhile.
            guard isRunning || Instant.now() < end else { return wd_reap_pidfd(descriptor.number, false) != 0 }
            _ = waitUntilExited(by: .now() + Self.lookInterval)
        }
        return true
    }

    /// Reaps a child as soon as it exits, on a thread of its own; returns at once.
    ///
    /// For a child that was killed or ends by itself, and whose end nobody waits for: it is gone some time after it has
    /// exited, however long that takes. Somebody else may reap it first.
    ///
    /// If this process exits before the child, it kills it and waits for it as ``UnawaitedChildren/end()`` says.
    ///
    /// - Parameter limit: how long the end of this process waits for the child while it cannot run.
    public func reapWhenItExits(waitingAtExit limit: Duration = .seconds(1)) {
        // Most have exited by now. -1: somebody else has reaped it.
        guard wd_reap_pidfd(descriptor.number, false) == 0 else { return }
        UnawaitedChildren.add(self, limit)
        try? WorkerThread.start { [self] in
            _ = wd_reap_pidfd(descriptor.number, true)
            UnawaitedChildren.remove(self)
        }.detach()
    }
}

extension Procfs {
    /// Whether a thread of the process runs or waits for nothing but a CPU; the first thread may have exited before others.
    static func hasRunnableThread(_ pid: Int32) -> Bool {
        threads(of: pid).contains { ProcessStat.read(pid, thread: $0)?.state == .running }
    }
}
