// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogLinux
public import WatchdogVerdict

/// Many samples of a process before their stacks are unwound.
public struct Sampling: Sendable {
    /// Consecutive samples in which a thread showed the same stack.
    public struct Run: Sendable, Equatable {
        /// The thread ID.
        public var thread: Int32
        /// The number of the stack, which is a thread ID in ``Sampling/snapshot``.
        public var stack: Int32
        /// The index of the first sample, from 0.
        public var first: Int
        /// The number of samples.
        public var count: Int
    }

    /// A thread that was sampled.
    public struct Thread: Sendable, Equatable {
        /// The thread ID.
        public var id: Int32
        /// The name of the thread.
        public var name: String
        /// The time on a CPU during sampling.
        public var runTime: Duration
        /// The time runnable without a CPU during sampling.
        public var runDelay: Duration
        /// An upper bound of the time for which sampling stopped the thread.
        public var stopped: Duration
    }

    /// The distinct stacks, each stored as a thread.
    public var snapshot: Snapshot
    /// The runs of all threads, ordered by when they began.
    public var runs: [Run]
    /// The threads, in the order in which the kernel lists them.
    public var threads: [Thread]
    /// The time of the first sample.
    public var began: Instant
    /// The time from the first sample to the last.
    public var duration: Duration
    /// The number of samples.
    public var sampleCount: Int
    /// The number of samples of single threads that are missing because the table of stacks was full.
    public var lostCount: Int
    /// The number of times that a thread was stopped.
    public var stopCount: Int
    /// The longest stop.
    public var longestStop: Duration
    /// The reason why threads on a CPU could not be stopped; nil if they were.
    public var refusal: Errno?
    /// Whether the process exited during sampling.
    public var hasEnded: Bool
    /// The CPU time that sampling took.
    public var cost: Duration

    /// Names the stacks with a symbolicator, and returns the samples with their frames.
    public func samples(
        named name: String, path: String, at time: WallTime, with symbolicator: Symbolicator
    ) -> ProcessSamples {
        samples(of: symbolicator.symbolicate(snapshot), named: name, path: path, at: time)
    }

    /// Combines the samples with the frames of the symbolicated snapshot.
    public func samples(
        of captured: CapturedProcess, named name: String, path: String, at time: WallTime
    ) -> ProcessSamples {
        var numbers: [Int: Int] = [:]
        let stacks = captured.threads.enumerated().map { index, thread in
            numbers[thread.id] = index
            return ProcessSamples.Stack(
                state: thread.state, syscall: thread.syscall, waitChannel: thread.waitChannel, frames: thread.frames,
                asynchronousFrames: thread.asynchronousFrames)
        }
        var byThread: [Int32: [ProcessSamples.Run]] = [:]
        for run in runs {
            guard let stack = numbers[Int(run.stack)] else { continue }
            byThread[run.thread, default: []].append(.init(first: run.first, count: run.count, stack: stack))
        }
        var result = ProcessSamples(
            process: Int(snapshot.process), name: name, path: path, time: time, interval: interval, duration: duration,
            sampleCount: sampleCount, stacks: stacks, images: captured.images)
        result.threads = threads.compactMap { thread in
            byThread[thread.id].map {
                ProcessSamples.Thread(
                    id: Int(thread.id), name: thread.name, runTime: thread.runTime, runDelay: thread.runDelay,
                    stopped: thread.stopped, runs: $0)
            }
        }
        result.stopCount = stopCount
        result.longestStop = longestStop
        result.cost = cost
        result.notes = notes + captured.notes
        result.shortage = captured.shortage
        return result
    }

    private var interval: Duration { sampleCount > 1 ? duration / (sampleCount - 1) : duration }

    private var notes: [String] {
        var notes: [String] = []
        if let refusal {
            notes.append("threads on a CPU have no stacks here: stopping them was refused, \(refusal)")
        }
        if lostCount > 0 { notes.append("\(lostCount) samples of a thread are missing: too many different stacks") }
        if hasEnded { notes.append("the process ended while it was sampled") }
        return notes
    }
}
