// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
public import WatchdogBase
public import WatchdogLinux
public import WatchdogVerdict

/// The memory of a process's stacks at one instant, with descriptors of the files mapped into it.
///
/// It may contain secrets of the process, so it exists only in memory, and the last reference frees it.
///
/// Isolation: immutable; may be used from any thread.
public final class Snapshot: Sendable {
    /// The process ID.
    public let process: Int32
    /// A sealed memfd with the records of `wd_snapshot_format.h`.
    public var memory: Int32 { records.number }
    /// The size of the records in bytes.
    public var byteCount: Int {
        var status = stat()
        return fstat(memory, &status) == 0 ? Int(status.st_size) : 0
    }
    /// Descriptors of the mapped executables, in the order of their numbers in the records.
    public var modules: [Int32] { files.map(\.number) }
    /// The method of the capture.
    public let method: CapturedProcess.Method
    /// The reason why no better method was possible; nil for ``CapturedProcess/Method/ptrace``.
    public let methodReason: String?
    /// The number of threads.
    public let threadCount: Int
    /// The durations of the parts of the capture.
    public let timings: SnapshotTimings
    /// The number of brief stops of threads on a CPU, and an upper bound of the longest.
    let briefStops: (count: Int, longest: Duration)
    /// The effect of the capture on the process.
    public let end: SnapshotEnd

    private let records: OwnedDescriptor
    let files: [OwnedDescriptor]

    init(adopting result: wd_snapshot_result, modules: [Int32], request: wd_snapshot_request) {
        process = request.pid
        records = OwnedDescriptor(taking: result.memfd)
        files = modules.map { OwnedDescriptor(taking: $0) }
        method = .init(result.method)
        let reason = string(ofFixedArray: result.reason)
        methodReason = reason.isEmpty ? nil : reason
        threadCount = Int(result.thread_count)
        timings = SnapshotTimings(result.times, kill: request.end == WD_END_KILL.rawValue, method: method)
        briefStops = (Int(result.brief_stops), .nanoseconds(Int64(clamping: result.longest_stop_ns)))
        end = SnapshotEnd(result, request)
    }

    /// Creates a snapshot that no capture produced.
    init(
        process: Int32, records: OwnedDescriptor, files: [OwnedDescriptor], method: CapturedProcess.Method,
        threadCount: Int, timings: SnapshotTimings, end: SnapshotEnd
    ) {
        self.process = process
        self.records = records
        self.files = files
        self.method = method
        methodReason = nil
        self.threadCount = threadCount
        self.timings = timings
        briefStops = (0, .zero)
        self.end = end
    }

    /// Copies a snapshot with other descriptors of the mapped files, in the same order.
    init(_ original: Snapshot, files: [OwnedDescriptor]) {
        process = original.process
        records = original.records
        self.files = files
        method = original.method
        methodReason = original.methodReason
        threadCount = original.threadCount
        timings = original.timings
        briefStops = original.briefStops
        end = original.end
    }

    /// Takes a snapshot of a process and waits for it.
    ///
    /// Runs on a dedicated thread: a thread of the target in uninterruptible sleep cannot be released until the tracing
    /// thread ends.
    ///
    /// - Parameters:
    ///   - process: the process ID; never that of this process.
    ///   - options: how to take the snapshot, and what happens to the process.
    /// - Throws: ``SnapshotError``; its ``SnapshotError/end`` is what happened to the process nevertheless.
    public static func take(
        of process: Int32,
        _ options: SnapshotOptions = SnapshotOptions()
    ) throws(SnapshotError) -> Snapshot {
        let arena = try SnapshotArena(resident: 0)
        let outcome = Outcome(arena: arena, process: process, options: options)
        let thread = try CaptureWorker.start { outcome.run() }
        thread.join()
        guard let result = outcome.result else {
            throw SnapshotError("take a snapshot", of: process, .noChild)
        }
        return try result.get()
    }

    /// Parses the records.
    ///
    /// - Throws: ``SnapshotFormatError`` if they violate the format or cannot be read.
    public func contents() throws(SnapshotFormatError) -> SnapshotContents {
        try SnapshotReader.read(descriptor: memory)
    }
}

/// Passes the result of a capture from its thread to the thread that waits for it.
///
/// Isolation: written by the capturing thread, read after it was joined.
// SAFETY: joining the thread orders its writes before the reads.
private final class Outcome: @unchecked Sendable {
    let arena: SnapshotArena
    let process: Int32
    let options: SnapshotOptions
    var result: Result<Snapshot, SnapshotError>?

    init(arena: SnapshotArena, process: Int32, options: SnapshotOptions) {
        self.arena = arena
        self.process = process
        self.options = options
    }

    func run() {
        result = arena.take(of: process, options).0
    }
}

extension SnapshotTimings {
    init(_ times: wd_snapshot_times, kill: Bool, method: CapturedProcess.Method) {
        func span(_ from: UInt64, _ to: UInt64) -> Duration {
            from == 0 || to < from ? .zero : .nanoseconds(Int64(clamping: to - from))
        }
        self.init(
            began: Instant(nanoseconds: Int64(clamping: times.began)),
            facts: span(times.began, times.facts_read),
            frozen: method == .ptrace ? span(times.first_stop, times.ended) : .zero,
            untilKill: kill ? span(times.began, times.ended) : nil,
            untilReaped: kill ? span(times.began, times.reaped) : nil,
            total: span(times.began, times.finished)
        )
    }
}

extension SnapshotEnd {
    init(_ result: wd_snapshot_result, _ request: wd_snapshot_request) {
        if request.end != WD_END_KILL.rawValue {
            self = .untouched
        } else if result.kill_error != 0 {
            self = .killFailed(Errno(rawValue: result.kill_error))
        } else {
            self = result.killed != 0 ? .killed : .untouched
        }
    }
}

extension CapturedProcess.Method {
    init(_ method: UInt32) {
        switch method {
        case WD_METHOD_PTRACE.rawValue: self = .ptrace
        case WD_METHOD_PROCFS_REGISTERS.rawValue: self = .procfsRegisters
        default: self = .procfs
        }
    }

    var rawMethod: UInt32 {
        switch self {
        case .ptrace: WD_METHOD_PTRACE.rawValue
        case .procfsRegisters: WD_METHOD_PROCFS_REGISTERS.rawValue
        case .procfs, .core, .journal: WD_METHOD_PROCFS.rawValue
        }
    }
}

/// The text in a C `char[N]`, which Swift imports as a tuple, up to its NUL or its end.
func string<Tuple: BitwiseCopyable>(ofFixedArray array: Tuple) -> String {
    withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// The final effect of a capture on the process.
public enum SnapshotEnd: Sendable, Hashable {
    /// It keeps running as before.
    case untouched
    /// SIGKILL was sent.
    case killed
    /// SIGKILL could not be sent, or the `cgroup.kill` file of its cgroup could not be written.
    case killFailed(Errno)
}

/// The durations of the parts of a capture.
public struct SnapshotTimings: Sendable, Equatable {
    /// The time at which the capture began.
    public var began: Instant
    /// The time to read `/proc`, before anything was stopped.
    public var facts: Duration
    /// The time from the first stop request to the release of the last thread, or to SIGKILL; zero if nothing was
    /// stopped.
    public var frozen: Duration
    /// The time from the beginning to SIGKILL; nil if the process was not to be killed.
    public var untilKill: Duration?
    /// The time from the beginning to the end of the last traced thread; nil if the process was not to be killed.
    public var untilReaped: Duration?
    /// The duration of the whole capture.
    public var total: Duration
}
