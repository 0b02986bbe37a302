// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension CapturedProcess {
    /// Each thread with the stack that it showed for longest: one picture of many looks.
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
            methodReason: "these are the stacks seen most often in \(samples.sampleCount) looks at a running process",
            threads: threads.sorted {
                ($0.id != samples.process ? 1 : 0, $0.id) < ($1.id != samples.process ? 1 : 0, $1.id)
            },
            images: samples.images,
            notes: samples.notes
        )
    }
}

extension ProcessSamples {
    /// The stack that a thread showed most often; one with frames before one without.
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
    /// Takes what the main thread was doing from its stack, where it has got on since.
    public mutating func completeEvidence(from captured: CapturedProcess?) {
        guard let thread = captured?.threads.first(where: { $0.id == mainThread ?? pid }) else { return }
        evidence.state = thread.state.first
        evidence.syscall = thread.syscall
        evidence.waitChannel = thread.waitChannel
    }
}
