// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
import WatchdogLinux
import WatchdogPolicy

/// Working memory for one capture at a time.
///
/// Isolation: may move between threads, but serves one capture at a time, on the thread that holds it.
// SAFETY: a worker passes it on only as its last act.
final class SnapshotArena: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Maps the memory and makes `resident` bytes of it resident.
    init(resident: Int) throws(SnapshotError) {
        guard let pointer = wd_snapshot_arena_create(resident) else {
            throw SnapshotError("map memory for snapshots", of: nil, Errno(rawValue: errno))
        }
        self.pointer = pointer
    }

    deinit {
        wd_snapshot_arena_destroy(pointer)
    }

    /// Takes a snapshot on this thread, whose signals are blocked.
    ///
    /// - Returns: the outcome, and whether threads are left that only the end of this thread lets go.
    func take(of process: Int32, _ options: SnapshotOptions) -> (Result<Snapshot, SnapshotError>, mustExit: Bool) {
        var request = wd_snapshot_request()
        request.arena = pointer
        request.pid = process
        request.pidfd = options.pidfd ?? -1
        request.start_time = options.startTime ?? 0
        request.method = options.method.rawMethod
        request.cgroup_kill = -1
        request.stop_timeout_us = UInt32(clamping: max(options.stopTimeout, .microseconds(1)).nanoseconds / 1000)
        if case .kill(let controlGroup, let processGroup) = options.ending {
            request.end = WD_END_KILL.rawValue
            request.cgroup_kill = controlGroup ?? -1
            request.process_group = processGroup ?? 0
        }
        var result = wd_snapshot_result()
        let modules = [Int32](unsafeUninitializedCapacity: Int(WD_SNAPSHOT_MAX_MODULES)) { buffer, count in
            request.module_fds = buffer.baseAddress
            request.module_capacity = UInt32(buffer.count)
            wd_snapshot_take(&request, &result)
            count = Int(result.module_count)
        }
        let mustExit = result.lingering > 0
        guard result.error == 0 else {
            for module in modules {
                close(module)
            }
            let error = SnapshotError(
                string(ofFixedArray: result.operation),
                of: process,
                Errno(rawValue: result.error),
                end: SnapshotEnd(result, request)
            )
            return (.failure(error), mustExit)
        }
        return (.success(Snapshot(adopting: result, modules: modules, request: request)), mustExit)
    }
}
