// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

extension CapturedProcess {
    /// Each thread with the stack that it showed most: one picture of many samples.
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
    /// The evidence, together with what the samples add to it.
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

    /// Corrects the main thread's times by what the kernel's counters leave out, as far as the samples show it.
    ///
    /// Call it once, when the evidence has its strain.
    public mutating func completeTimes() {
        guard let samples, let thread = samples.threads.first(where: { $0.id == mainThread ?? pid }) else { return }
        evidence.stopped = thread.stopped
        guard samples.sampleCount > 1, let delay = evidence.runDelay,
            thread.runs.allSatisfy({ samples.stacks[$0.stack].state == "R" })
        else { return }
        // A thread that was runnable in every sample waited for a CPU whenever it had none. The kernel adds a wait only
        // when it is over,
        let pending = max(delay, samples.duration - thread.runTime - thread.stopped)
        // and counts what the hypervisor takes neither as running nor as waiting: rq_clock_task() in kernel/sched.
        evidence.runDelay = pending + min(stolenTime, max(unknownTime - pending, .zero))
    }

    /// The part of the window that the kernel has not counted as running.
    private var unknownTime: Duration {
        guard let window = evidence.window, let runTime = evidence.runTime else { return .zero }
        return window - runTime - evidence.stopped
    }

    /// What the hypervisor took in the window, if it took as much before the samples as during them.
    private var stolenTime: Duration {
        guard let strain = evidence.strain, strain.window > .zero, let window = evidence.window else { return .zero }
        return strain.stolen * max(window / strain.window, 1)
    }

    /// Updates what the main thread was doing from its capture, because it may have moved on since.
    public mutating func completeEvidence(from captured: CapturedProcess?) {
        guard let thread = captured?.threads.first(where: { $0.id == mainThread ?? pid }) else { return }
        evidence.state = thread.state.first
        evidence.syscall = thread.syscall
        evidence.waitChannel = thread.waitChannel
    }

    /// Adds the main thread's system call from its capture, if nobody has read it before: on a busy machine, the answer
    /// to that question can come too late.
    public mutating func completeCall(from captured: CapturedProcess?) {
        guard evidence.syscall == nil, let state = evidence.state, "SD".contains(state),
            let thread = captured?.threads.first(where: { $0.id == mainThread ?? pid }),
            case .inside? = thread.syscall.flatMap(SystemCall.position(in:))
        else { return }
        evidence.syscall = thread.syscall
    }
}
