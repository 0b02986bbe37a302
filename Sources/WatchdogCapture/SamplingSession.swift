// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogLinux
import WatchdogPolicy

/// Looks at a process until it is told to stop, on a thread of its own.
///
/// Only the first look may stop threads, from a thread that ends with it: nothing is traced any more when the process is
/// captured or killed later.
///
/// Isolation: may be used from any thread; only ``result(within:)`` waits.
public final class SamplingSession: Sendable {
    private struct State {
        var isStopped = false
        var result: Result<Sampling, SnapshotError>?
    }

    private let state = Mutex(State())
    private let wake: Bell
    private let done: Bell

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - process: the process's id; never this process.
    ///   - options: how often, and for how long at most.
    ///   - onFirstLook: called once on that thread when no thread is or will be stopped any more.
    ///   - onLook: called on that thread with each look.
    /// - Throws: ``SnapshotError`` when there is no memory or no thread to be had.
    public init(
        of process: Int32, _ options: SamplingOptions, onFirstLook: @escaping @Sendable () -> Void,
        onLook: @escaping @Sendable () -> Void
    ) throws(SnapshotError) {
        wake = try Bell()
        done = try Bell()
        try CaptureWorker.start { [self] in
            let result = run(process, options, onFirstLook, onLook)
            state.withLock { $0.result = result }
            done.ring()
        }
        .detach()
    }

    /// Ends the looks; returns at once.
    public func stop() {
        state.withLock { $0.isStopped = true }
        wake.ring()
    }

    /// What was seen; nil when the thread does not end in time.
    ///
    /// To be called once, after ``stop()``.
    public func result(within limit: Duration) -> Result<Sampling, SnapshotError>? {
        done.wait(until: .now() + limit)
        return state.withLock { $0.result }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func run(
        _ process: Int32, _ options: SamplingOptions, _ onFirstLook: @Sendable () -> Void,
        _ onLook: @Sendable () -> Void
    ) -> Result<Sampling, SnapshotError> {
        onLook()
        do throws(SnapshotError) {
            let sampler = try begun(process, options, onFirstLook)
            sampler.stopsRunning = false
            var next = Instant.now()
            let end = next + options.duration
            while true {
                next = max(next + options.interval, .now())
                wake.wait(until: next)
                guard next <= end, !isStopped, sampler.look() else { break }
                onLook()
            }
            return .success(try sampler.finish())
        } catch {
            return .failure(error)
        }
    }

    private func begun(
        _ process: Int32, _ options: SamplingOptions, _ onFirstLook: @Sendable () -> Void
    ) throws(SnapshotError) -> Sampler {
        defer { onFirstLook() }
        let sampler = try Sampler(of: process, options)
        // What is seen after the end is not what was to be seen: on a busy machine the first look may come late.
        guard !isStopped else { throw SnapshotError("sample", of: process, .timedOut) }
        guard try firstLook(sampler) else { throw SnapshotError("sample", of: process, .noSuchProcess) }
        guard !isStopped else { throw SnapshotError("sample", of: process, .timedOut) }
        return sampler
    }

    private func firstLook(_ sampler: Sampler) throws(SnapshotError) -> Bool {
        let look = FirstLook(sampler: sampler)
        try CaptureWorker.start { look.succeeded = look.sampler.look() }.join()
        return look.succeeded
    }
}

/// Something to wait for with a limit on the monotonic clock, which sem_timedwait(3) does not know.
private struct Bell {
    private let pipe: (read: OwnedDescriptor, write: OwnedDescriptor)

    init() throws(SnapshotError) {
        do throws(LinuxError) {
            pipe = try OwnedDescriptor.pipe()
        } catch {
            throw SnapshotError("create a pipe", of: nil, error.errno)
        }
    }

    /// Wakes whoever waits now or later; to be rung once or twice, not without end.
    func ring() {
        _ = write(pipe.write.number, "!", 1)
    }

    func wait(until moment: Instant) {
        var entry = pollfd(fd: pipe.read.number, events: Int16(POLLIN), revents: 0)
        while true {
            let left = moment - .now()
            guard left > .zero else { return }
            if poll(&entry, 1, Int32(clamping: left.nanoseconds / 1_000_000 + 1)) > 0 { return }
        }
    }
}

/// A look that is taken on another thread.
///
/// Isolation: used by one thread, which is joined before another uses it.
// SAFETY: starting and joining the thread order the uses.
private final class FirstLook: @unchecked Sendable {
    let sampler: Sampler
    var succeeded = false

    init(sampler: Sampler) {
        self.sampler = sampler
    }
}
