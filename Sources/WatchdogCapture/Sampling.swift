// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux
public import WatchdogPolicy
public import WatchdogReport

/// What many looks at a process brought, before its stacks are unwound.
public struct Sampling: Sendable {
    /// A thread that showed the same stack in consecutive looks.
    public struct Run: Sendable, Equatable {
        /// The thread.
        public var thread: Int32
        /// The number under which ``Sampling/snapshot`` holds the stack, as the id of a thread.
        public var stack: Int32
        /// The first look, from 0.
        public var first: Int
        /// How many looks.
        public var count: Int
    }

    /// A thread that was seen.
    public struct Thread: Sendable, Equatable {
        /// Its id.
        public var id: Int32
        /// Its name.
        public var name: String
        /// Time on a CPU while it was looked at.
        public var runTime: Duration
        /// Time runnable without a CPU meanwhile.
        public var runDelay: Duration
    }

    /// Each different stack as a thread.
    public var snapshot: Snapshot
    /// What each thread showed, in the order in which it began.
    public var runs: [Run]
    /// The threads, in the order in which the kernel lists them.
    public var threads: [Thread]
    /// When it began.
    public var began: Instant
    /// From the first look to the last.
    public var duration: Duration
    /// How many looks there were.
    public var sampleCount: Int
    /// Looks at a thread that are missing, because there was no room for another stack.
    public var lostCount: Int
    /// How often a thread was stopped.
    public var stopCount: Int
    /// The longest stop.
    public var longestStop: Duration
    /// Why threads on a CPU could not be stopped.
    public var refusal: Errno?
    /// Whether the process ended meanwhile.
    public var hasEnded: Bool
    /// CPU time that the looks took.
    public var cost: Duration

    /// The samples with frames.
    public func samples(
        named name: String, path: String, at time: WatchdogReport.WallTime, with symbolicator: Symbolicator
    ) -> ProcessSamples {
        samples(of: symbolicator.symbolicate(snapshot), named: name, path: path, at: time)
    }

    /// The samples with the frames of its snapshot, which was symbolicated.
    public func samples(
        of captured: CapturedProcess, named name: String, path: String, at time: WatchdogReport.WallTime
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
                    id: Int(thread.id), name: thread.name, runTime: thread.runTime, runDelay: thread.runDelay, runs: $0)
            }
        }
        result.stopCount = stopCount
        result.longestStop = longestStop
        result.cost = cost
        result.notes = notes + captured.notes
        return result
    }

    private var interval: Duration { sampleCount > 1 ? duration / (sampleCount - 1) : duration }

    private var notes: [String] {
        var notes: [String] = []
        if let refusal {
            notes.append("threads on a CPU have no stacks here: stopping them was refused, \(refusal)")
        }
        if lostCount > 0 { notes.append("\(lostCount) looks at a thread are missing: too many different stacks") }
        if hasEnded { notes.append("the process ended while it was looked at") }
        return notes
    }
}
