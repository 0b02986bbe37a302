// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase
public import WatchdogLinux

/// Samples a process on a dedicated thread until it is stopped.
///
/// Only the first sample may stop threads, from a thread that ends afterward, so that no thread is traced when the
/// process is captured or killed later.
///
/// Isolation: may be used from any thread; nothing here waits.
public final class SamplingSession: Sendable {
    private struct State {
        var isStopped = false
        var result: Result<Sampling, SnapshotError>?
    }

    /// The time limit of the first sample.
    private static let firstLookLimit = Duration.seconds(2)

    private let state = Mutex(State())
    private let ending = Ending()
    private let wake: Bell

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - process: the process ID; never that of this process.
    ///   - options: the interval and the maximum duration.
    ///   - copying: reads memory; nil if the threads may block forever.
    ///   - seat: held until both threads have ended, which the kernel may prevent.
    ///   - onFirstLook: called once on that thread when no thread of the process is or will be stopped.
    ///   - onLook: called on that thread with each sample.
    /// - Throws: ``SnapshotError`` if no memory or no thread is available.
    public init(
        of process: Int32, _ options: SamplingOptions, by copying: Copying? = nil, seat: ThreadSeat,
        onFirstLook: @escaping @Sendable () -> Void, onLook: @escaping @Sendable () -> Void
    ) throws(SnapshotError) {
        wake = try Bell()
        try CaptureWorker.start { [self] in
            let result = run(process, options, copying, seat, onFirstLook, onLook)
            state.withLock { $0.result = result }
            ending.come()
        }
        .detach()
    }

    /// Stops sampling; returns immediately.
    public func stop() {
        state.withLock { $0.isStopped = true }
        wake.ring()
    }

    /// The samples; nil until the thread has ended.
    public var result: Result<Sampling, SnapshotError>? { state.withLock { $0.result } }

    /// Calls a closure once the samples are there, at once or on another thread.
    public func whenEnded(_ call: @escaping @Sendable () -> Void) { ending.whenCome(call) }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func run(
        _ process: Int32, _ options: SamplingOptions, _ copying: Copying?, _ seat: ThreadSeat,
        _ onFirstLook: @Sendable () -> Void, _ onLook: @Sendable () -> Void
    ) -> Result<Sampling, SnapshotError> {
        onLook()
        do throws(SnapshotError) {
            let sampler = try begun(process, options, copying, seat, onFirstLook)
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
        _ process: Int32, _ options: SamplingOptions, _ copying: Copying?, _ seat: ThreadSeat,
        _ onFirstLook: @Sendable () -> Void
    ) throws(SnapshotError) -> Sampler {
        defer { onFirstLook() }
        let sampler = try Sampler(of: process, options, by: copying)
        // A sample taken after the stop would be misleading: on a busy machine the first one may come late.
        guard !isStopped else { throw SnapshotError("sample", of: process, .timedOut) }
        guard try firstLook(sampler, of: process, seat) else {
            throw SnapshotError("sample", of: process, .noSuchProcess)
        }
        guard !isStopped else { throw SnapshotError("sample", of: process, .timedOut) }
        return sampler
    }

    private func firstLook(
        _ sampler: Sampler, of process: Int32, _ seat: ThreadSeat
    ) throws(SnapshotError) -> Bool {
        let look = FirstLook(sampler: sampler)
        let worker = try CaptureWorker.start {
            withExtendedLifetime(seat) {
                look.succeeded = look.sampler.look()
                // Only this thread, as the tracer, can release a thread that stops late.
                look.sampler.releaseStopped(until: .now() + Self.firstLookLimit / 2)
            }
        }
        // The kernel may block the thread indefinitely; then it keeps the sampler.
        guard worker.join(until: .now() + Self.firstLookLimit) else {
            throw SnapshotError("sample", of: process, .timedOut)
        }
        return look.succeeded
    }
}

/// A signal with a timed wait on the monotonic clock: sem_timedwait(3) uses the real-time clock, which can be set.
private struct Bell {
    private let pipe: (read: OwnedDescriptor, write: OwnedDescriptor)

    init() throws(SnapshotError) {
        do throws(LinuxError) {
            pipe = try OwnedDescriptor.pipe()
        } catch {
            throw SnapshotError("create a pipe", of: nil, error.errno)
        }
    }

    /// Wakes current and future waiters; may be called only a few times, because each call writes to the pipe.
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

/// A sample that is taken on another thread.
///
/// Isolation: used by one thread, which is joined before another one uses it; if that times out, no other thread uses
/// it.
// SAFETY: starting and joining the thread order all accesses.
private final class FirstLook: @unchecked Sendable {
    let sampler: Sampler
    var succeeded = false

    init(sampler: Sampler) {
        self.sampler = sampler
    }
}
