// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// A thread for captures, which tells in their words why it could not be had.
enum CaptureWorker {
    /// Starts a thread that runs `body`.
    static func start(_ body: @escaping @Sendable () -> Void) throws(SnapshotError) -> WorkerThread {
        do {
            return try WorkerThread.start(body)
        } catch {
            throw SnapshotError("start a thread for snapshots", of: nil, error.errno)
        }
    }
}
