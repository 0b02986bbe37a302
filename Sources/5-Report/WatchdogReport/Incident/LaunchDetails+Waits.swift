// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

extension LaunchDetails {
    /// The shortest block that counts, in parts of the launch.
    private static let leastShare: Int64 = 20

    /// Completes the phases that ended with what blocked the process's first thread in them: where most of its samples
    /// show it.
    ///
    /// Samples are less exact than the recorder's times: those next to the ends of a phase are left out, because they
    /// may belong to its neighbor.
    ///
    /// - Parameters:
    ///   - samples: the samples, with names.
    ///   - process: the process.
    ///   - executable: the path of its program.
    ///   - began: the time from the launch to the first sample.
    mutating func complete(with samples: ProcessSamples, of process: Int, executable: String, began: Duration) {
        guard let thread = samples.threads.first(where: { $0.id == process }), samples.interval > .zero else { return }
        let least = nanoseconds / Self.leastShare
        for index in phases.indices where !phases[index].isOpen && phases[index].name != LaunchPhaseName.exec.rawValue {
            let phase = phases[index]
            guard phase.nanoseconds > least, phase.blockedNanoseconds.map({ $0 > least }) ?? true else { continue }
            let start = Duration.nanoseconds(phase.startNanoseconds) + samples.interval / 4
            let end = start + .nanoseconds(phase.nanoseconds) - samples.interval / 2
            let first = Self.number(of: start, began, samples.interval)
            let last = Self.number(of: end, began, samples.interval)
            phases[index].wait = Wait(in: samples, of: thread, first..<max(first, last), executable: executable)
        }
    }

    /// The number of the first sample that is not before a time.
    private static func number(of time: Duration, _ began: Duration, _ interval: Duration) -> Int {
        guard time > began else { return 0 }
        return Int(clamping: ((time - began).nanoseconds - 1) / interval.nanoseconds + 1)
    }
}

extension LaunchDetails.Wait {
    /// The place that most of the samples of a thread show, among those that show it blocked; nil if none does.
    fileprivate init?(
        in samples: ProcessSamples, of thread: ProcessSamples.Thread, _ range: Range<Int>, executable: String
    ) {
        var counts: [String: (count: Int, stack: Int)] = [:]
        var looks = 0
        for run in thread.runs where samples.stacks.indices.contains(run.stack) {
            let count = range.clamped(to: run.first..<run.first + run.count).count
            guard count > 0 else { continue }
            looks += count
            guard let call = Self.call(of: samples.stacks[run.stack]) else { continue }
            counts[call, default: (0, run.stack)].count += count
        }
        guard let most = counts.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }) else { return nil }
        self.init(
            call: most.key, caller: samples.caller(samples.stacks[most.value.stack], executable: executable),
            samples: most.value.count, ofSamples: looks)
    }

    /// The system call in which a thread is blocked; nil if it is not in one.
    private static func call(of stack: ProcessSamples.Stack) -> String? {
        guard case .inside(let call)? = stack.syscall.flatMap(SystemCall.position(in:)) else { return nil }
        return call.name ?? "system call \(call.number)"
    }
}

extension ProcessSamples {
    /// The innermost function of the app itself, with its file and line; nil without one.
    fileprivate func caller(_ stack: Stack, executable: String) -> String? {
        let frame = stack.frames.first { frame in
            guard frame.trust != .scan, frame.symbol != nil, images.indices.contains(frame.imageIndex) else {
                return false
            }
            return CodeOrigin(of: ImageInfo(images[frame.imageIndex]), executable: executable) == .application
        }
        return frame?.place?.singleLine(limit: 80)
    }
}
