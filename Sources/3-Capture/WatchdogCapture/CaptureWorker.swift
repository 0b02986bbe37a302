// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// Starts threads for captures, and reports failures as capture errors.
enum CaptureWorker {
    static func start(_ body: @escaping @Sendable () -> Void) throws(SnapshotError) -> WorkerThread {
        do {
            return try WorkerThread.start(body)
        } catch {
            throw SnapshotError("start a thread for snapshots", of: nil, error.errno)
        }
    }
}
