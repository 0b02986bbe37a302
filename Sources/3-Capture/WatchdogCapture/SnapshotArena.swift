// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
import WatchdogBase
import WatchdogLinux

/// Working memory for one capture at a time.
///
/// Isolation: may move between threads, but only one thread at a time uses it.
// SAFETY: a worker passes the arena on only as its last act.
final class SnapshotArena: @unchecked Sendable {
    let pointer: OpaquePointer
    /// Reads the memory of the process; nil if the thread that uses this arena may block forever.
    var copying: Copying?

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
    /// - Parameter beforeKill: called before the process is killed, while it is stopped and after its memory was copied;
    ///   never called if it is released.
    /// - Returns: the outcome, and whether some threads are released only when this thread ends.
    func take(
        of process: Int32, _ options: SnapshotOptions, beforeKill: @escaping () -> Void = {}
    ) -> (Result<Snapshot, SnapshotError>, mustExit: Bool) {
        let hook = BeforeKill(run: beforeKill)
        var request = wd_snapshot_request()
        request.arena = pointer
        request.pid = process
        request.pidfd = options.pidfd ?? -1
        request.start_time = options.startTime ?? 0
        request.method = options.method.rawMethod
        request.stop_running = options.stopsRunning ? 1 : 0
        request.glance = options.glances ? 1 : 0
        request.cgroup_kill = -1
        request.stop_timeout_us = UInt32(clamping: max(options.stopTimeout, .microseconds(1)).nanoseconds / 1000)
        // The arena keeps `copying` alive during the capture.
        request.reader = wd_memory_reader(copying)
        if case .kill(let controlGroup, let processGroup) = options.ending {
            request.end = WD_END_KILL.rawValue
            request.cgroup_kill = controlGroup ?? -1
            request.process_group = processGroup ?? 0
            request.before_kill = { context in
                context.map { Unmanaged<BeforeKill>.fromOpaque($0).takeUnretainedValue().run() }
            }
            request.before_kill_context = Unmanaged.passUnretained(hook).toOpaque()
        }
        var result = wd_snapshot_result()
        let modules = [Int32](unsafeUninitializedCapacity: Int(WD_SNAPSHOT_MAX_MODULES)) { buffer, count in
            request.module_fds = buffer.baseAddress
            request.module_capacity = UInt32(buffer.count)
            withExtendedLifetime(hook) { _ = wd_snapshot_take(&request, &result) }
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

/// A closure that C can call.
private final class BeforeKill {
    let run: () -> Void

    init(run: @escaping () -> Void) { self.run = run }
}

extension wd_memory_reader {
    /// Wraps `copying`, which must outlive the reader.
    init(_ copying: Copying?) {
        self.init()
        guard let copying, !copying.isDirect else { return }
        context = Unmanaged.passUnretained(copying).toOpaque()
        only_resident = copying.isCareful ? 1 : 0
        read = { context, process, file, ranges, count, buffer in
            guard let context else { return -1 }
            let copying = Unmanaged<Copying>.fromOpaque(context).takeUnretainedValue()
            return copying.read(process, file: file, ranges, count: count, into: buffer)
        }
    }
}
