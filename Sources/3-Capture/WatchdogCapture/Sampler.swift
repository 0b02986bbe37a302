// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
public import WatchdogBase
import WatchdogLinux

/// Samples all threads of a process repeatedly without disturbing those that sleep.
///
/// Isolation: one thread, which must end afterward if threads were stopped, because they are its ptrace(2) tracees.
final class Sampler {
    private static let runCapacity = 1 << 18

    private let arena: SnapshotArena
    private let process: Int32
    private let runs: UnsafeMutableBufferPointer<wd_sample_run>
    private let modules: UnsafeMutableBufferPointer<Int32>
    private var sampler: OpaquePointer?
    private var result = wd_snapshot_result()
    private let began = Instant.now()
    private var latest: Instant
    private let costBefore = threadTime()

    /// Starts the sampling; `copying` reads memory, nil if this thread may block forever.
    init(of process: Int32, _ options: SamplingOptions, by copying: Copying? = nil) throws(SnapshotError) {
        arena = try SnapshotArena(resident: 0)
        arena.copying = copying
        self.process = process
        runs = .allocate(capacity: Self.runCapacity)
        modules = .allocate(capacity: Int(WD_SNAPSHOT_MAX_MODULES))
        latest = began
        var request = wd_sampling_request()
        request.arena = arena.pointer
        request.pid = process
        request.pidfd = options.pidfd ?? -1
        request.start_time = options.startTime ?? 0
        request.stop_running = options.stopsRunning ? 1 : 0
        request.run_capacity = UInt32(runs.count)
        request.runs = runs.baseAddress
        request.module_capacity = UInt32(modules.count)
        request.module_fds = modules.baseAddress
        request.reader = wd_memory_reader(copying)
        sampler = wd_sampler_begin(&request, &result)
        guard sampler != nil else { throw error }
        stopsRunning = options.stopsRunning
    }

    deinit {
        if sampler != nil, let sampling = try? finish() { withExtendedLifetime(sampling) {} }
        runs.deallocate()
        modules.deallocate()
    }

    /// Whether the following samples briefly stop threads that are on a CPU.
    var stopsRunning = true {
        didSet { wd_sampler_stop_running(sampler, stopsRunning ? 1 : 0) }
    }

    /// Takes one sample; returns false if the process has exited.
    func look() -> Bool {
        let isThere = wd_sampler_look(sampler) == 0
        if isThere { latest = .now() }
        return isThere
    }

    /// Waits for threads that stop late, and releases each of them immediately; returns without waiting if there are
    /// none.
    func releaseStopped(until moment: Instant) {
        _ = wd_sampler_release_stopped(sampler, UInt64(clamping: moment.nanoseconds))
    }

    /// Ends the sampling; call it once.
    func finish() throws(SnapshotError) -> Sampling {
        var totals = wd_sampling_totals()
        let threads = (0..<wd_sampler_thread_count(sampler)).map { index in
            var thread = wd_sampled_thread()
            wd_sampler_thread(sampler, index, &thread)
            return Sampling.Thread(
                id: thread.tid, name: string(ofFixedArray: thread.name),
                runTime: .nanoseconds(Int64(clamping: thread.run_ns)),
                runDelay: .nanoseconds(Int64(clamping: thread.wait_ns)),
                stopped: .nanoseconds(Int64(clamping: thread.stopped_ns)))
        }
        wd_sampler_finish(sampler, &result, &totals)
        sampler = nil
        let files = Array(modules.prefix(Int(result.module_count)))
        guard result.error == 0 else {
            for file in files { close(file) }
            throw error
        }
        var request = wd_snapshot_request()
        request.pid = process
        return Sampling(
            snapshot: Snapshot(adopting: result, modules: files, request: request),
            runs: runs.prefix(Int(totals.runs)).map {
                Sampling.Run(
                    thread: $0.tid, stack: Int32(clamping: $0.stack), first: Int($0.first), count: Int($0.count))
            },
            threads: threads,
            began: began,
            duration: latest - began,
            sampleCount: Int(totals.samples),
            lostCount: Int(totals.lost),
            stopCount: Int(totals.stops),
            longestStop: .nanoseconds(Int64(clamping: totals.longest_stop_ns)),
            refusal: totals.refusal == 0 ? nil : Errno(rawValue: totals.refusal),
            hasEnded: totals.gone != 0,
            cost: threadTime() - costBefore
        )
    }

    private var error: SnapshotError {
        SnapshotError(string(ofFixedArray: result.operation), of: process, Errno(rawValue: result.error))
    }
}

private func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

extension Sampling {
    /// Samples a process for a while, on a dedicated thread.
    ///
    /// - Parameters:
    ///   - process: the process ID; never that of this process.
    ///   - options: how long and how often to sample.
    ///   - pause: waits until the given instant; returns false to stop sampling. Called on the sampling thread.
    /// - Returns: the samples.
    /// - Throws: ``SnapshotError`` if there was not a single sample.
    public static func take(
        of process: Int32,
        _ options: SamplingOptions = SamplingOptions(),
        pause: @escaping @Sendable (Instant) -> Bool = sleep
    ) throws(SnapshotError) -> Sampling {
        let outcome = SamplingOutcome()
        let thread = try CaptureWorker.start {
            outcome.result = run(process, options, pause)
        }
        thread.join()
        guard let result = outcome.result else { throw SnapshotError("sample", of: process, .noChild) }
        return try result.get()
    }

    /// Waits until the given instant; always returns true.
    public static func sleep(until moment: Instant) -> Bool {
        let nanoseconds = moment.nanoseconds
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
        return true
    }

    /// Samples a process for a while on this thread, whose signals are blocked.
    static func run(
        _ process: Int32, _ options: SamplingOptions, _ pause: (Instant) -> Bool
    ) -> Result<Sampling, SnapshotError> {
        do throws(SnapshotError) {
            let sampler = try Sampler(of: process, options)
            var next = Instant.now()
            let end = next + options.duration
            while sampler.look() {
                // A late sample delays the following ones: they must not come in a burst.
                next = max(next + options.interval, .now())
                guard next <= end else { break }
                sampler.releaseStopped(until: next)
                guard pause(next) else { break }
            }
            let sampling = try sampler.finish()
            guard sampling.sampleCount > 0 else {
                return .failure(SnapshotError("sample", of: process, .noSuchProcess))
            }
            return .success(sampling)
        } catch {
            return .failure(error)
        }
    }
}

/// Passes the result of a sampling from its thread to the thread that waits for it.
///
/// Isolation: written by the sampling thread, read after it was joined.
// SAFETY: joining the thread orders its writes before the reads.
private final class SamplingOutcome: @unchecked Sendable {
    var result: Result<Sampling, SnapshotError>?
}

/// The options of a sampling.
public struct SamplingOptions: Sendable, Equatable {
    /// A descriptor of the process, which the caller continues to own; nil to open one by process ID.
    public var pidfd: Int32?
    /// The value that `/proc/PID/stat` field 22 must have, in clock ticks; nil to skip the check.
    public var startTime: UInt64?
    /// The time between two samples.
    public var interval: Duration
    /// The time from the first sample to the last.
    public var duration: Duration
    /// Whether to stop threads on a CPU briefly: `/proc` does not show their registers.
    ///
    /// Sleeping threads are never stopped.
    public var stopsRunning: Bool

    /// Creates options.
    public init(
        pidfd: Int32? = nil, startTime: UInt64? = nil, interval: Duration = .milliseconds(10),
        duration: Duration = .seconds(3), stopsRunning: Bool = true
    ) {
        self.pidfd = pidfd
        self.startTime = startTime
        self.interval = interval
        self.duration = duration
        self.stopsRunning = stopsRunning
    }
}
