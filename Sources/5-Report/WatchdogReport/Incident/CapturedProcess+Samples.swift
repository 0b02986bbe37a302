// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

extension CapturedProcess {
    /// Creates a capture from samples: each thread has the stack that it showed most often.
    public init(mostlySeenIn samples: ProcessSamples) {
        let threads = samples.threads.compactMap { thread -> CapturedThread? in
            guard let stack = samples.mainStack(of: thread) else { return nil }
            return CapturedThread(
                id: thread.id, name: thread.name, state: stack.state, waitChannel: stack.waitChannel,
                syscall: stack.syscall, runNanoseconds: UInt64(max(0, thread.runTime.nanoseconds)),
                runDelayNanoseconds: UInt64(max(0, thread.runDelay.nanoseconds)), frames: stack.frames,
                asynchronousFrames: stack.asynchronousFrames)
        }
        self.init(
            method: .procfsRegisters,
            methodReason: "these are the stacks seen most often in \(samples.sampleCount) samples of a running process",
            threads: threads.sorted {
                ($0.id != samples.process ? 1 : 0, $0.id) < ($1.id != samples.process ? 1 : 0, $1.id)
            },
            images: samples.images,
            notes: samples.notes
        )
    }
}

extension ProcessSamples {
    /// The stack that a thread showed most often; stacks with frames take precedence over empty ones.
    func mainStack(of thread: Thread) -> Stack? {
        var counts: [Int: Int] = [:]
        for run in thread.runs { counts[run.stack, default: 0] += run.count }
        return counts.max { one, other in
            let (first, second) = (stacks[one.key].frames.isEmpty ? 0 : 1, stacks[other.key].frames.isEmpty ? 0 : 1)
            return (first, one.value, other.key) < (second, other.value, one.key)
        }.map { stacks[$0.key] }
    }
}

extension IncidentFacts {
    /// The evidence, completed by the samples.
    var judgedEvidence: HangEvidence {
        var evidence = evidence
        evidence.isSameSleep = isSameSleep
        return evidence
    }

    private var isSameSleep: Bool {
        guard let samples, let thread = samples.threads.first(where: { $0.id == mainThread ?? pid }),
            thread.runs.count == 1, thread.sampleCount > 1,
            let stack = thread.runs.first.map({ samples.stacks[$0.stack] }),
            stack.state == "S" || stack.state == "D", evidence.state.map(String.init) == stack.state,
            let before = SystemCall.blocking(stack.syscall), let now = SystemCall.blocking(evidence.syscall)
        else { return false }
        return before.number == now.number
    }

    /// Adds to the main thread's times what the kernel's counters omit, as far as the samples prove it.
    ///
    /// Call it once, when the evidence has its strain.
    public mutating func completeTimes() {
        guard let samples, let thread = samples.threads.first(where: { $0.id == mainThread ?? pid }) else { return }
        evidence.stopped = thread.stopped
        guard samples.sampleCount > 1, let delay = evidence.runDelay,
            thread.runs.allSatisfy({ samples.stacks[$0.stack].state == "R" })
        else { return }
        // A thread that was runnable in every sample waited for a CPU whenever it had none. The kernel counts a wait
        // only at its end,
        let pending = max(delay, samples.duration - thread.runTime - thread.stopped)
        // and counts stolen time neither as running nor as waiting: rq_clock_task() in kernel/sched.
        evidence.runDelay = pending + min(stolenTime, max(unknownTime - pending, .zero))
    }

    /// The part of the window, without stops by watchdogd, that the kernel has not counted as running.
    private var unknownTime: Duration {
        guard let window = evidence.window, let runTime = evidence.runTime else { return .zero }
        return window - runTime - evidence.stopped
    }

    /// The stolen time in the window, extrapolated from the samples.
    private var stolenTime: Duration {
        guard let strain = evidence.strain, strain.window > .zero, let window = evidence.window else { return .zero }
        return strain.stolen * max(window / strain.window, 1)
    }

    /// Updates the main thread's state from its capture, because the thread may have moved since.
    public mutating func completeEvidence(from captured: CapturedProcess?) {
        guard let thread = captured?.threads.first(where: { $0.id == mainThread ?? pid }) else { return }
        evidence.state = thread.state.first
        evidence.syscall = thread.syscall
        evidence.waitChannel = thread.waitChannel
    }

    /// Adds the main thread's system call from its capture if it is unknown: on a busy machine, the examination can be
    /// too late.
    public mutating func completeCall(from captured: CapturedProcess?) {
        guard evidence.syscall == nil, let state = evidence.state, "SD".contains(state),
            let thread = captured?.threads.first(where: { $0.id == mainThread ?? pid }),
            case .inside? = thread.syscall.flatMap(SystemCall.position(in:))
        else { return }
        evidence.syscall = thread.syscall
    }
}
