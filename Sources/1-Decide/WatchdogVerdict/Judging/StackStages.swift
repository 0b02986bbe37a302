// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The main thread's stack at two moments of one allowance: the strongest proof of whether it makes progress.
public struct StackStages: Codable, Hashable, Sendable {
    /// The time from the start of the allowance to the first sample.
    public var firstNanoseconds: Int64
    /// The time from the start of the allowance to the capture.
    public var lastNanoseconds: Int64
    /// The number of outermost calls that both stacks share; 0 if one of them is truncated, so that its outermost calls
    /// are unknown.
    public var sameFrames: Int
    /// The number of calls on the first stack.
    public var firstFrames: Int
    /// The number of calls on the last stack.
    public var lastFrames: Int
    /// The number of samples of the main thread before the capture.
    public var looks: Int
    /// The number of these samples that showed the first stack.
    public var sameLooks: Int
    /// Whether the thread did not run between the two moments, so that it cannot have left the first stack.
    public var sleptThroughout: Bool

    /// Every sample copies a stack of fewer calls than this in full; such a stack is never truncated.
    private static let deep = 32

    /// Compares the stacks.
    ///
    /// - Parameters:
    ///   - samples: samples that did not stop the process, the first taken after at most half of the allowance.
    ///   - frames: the captured stack, innermost first; empty if there is none.
    ///   - main: the thread that runs the main loop.
    ///   - first: the time from the start of the allowance to the first sample.
    ///   - last: the time from the start of the allowance to the capture.
    /// - Returns: nil if one of the two stacks is missing.
    public init?(samples: ProcessSamples, frames: [Frame], main: Int, first: Duration, last: Duration) {
        guard let thread = samples.threads.first(where: { $0.id == main }), let start = thread.runs.first else {
            return nil
        }
        var before = samples.stacks[start.stack].frames
        var frames = frames
        guard !before.isEmpty, !frames.isEmpty else { return nil }
        // Deep stacks are truncated, and in samples earlier than in captures, so compare only the frames that both
        // have.
        let common = min(before.count, frames.count)
        let isCut = common >= Self.deep && before.count != frames.count
        let isSameAsFarAsKnown = isCut && zip(before, frames).allSatisfy { $0.isSameCall(as: $1) }
        if isSameAsFarAsKnown {
            before = Array(before.prefix(common))
            frames = Array(frames.prefix(common))
        }
        firstNanoseconds = first.nanoseconds
        lastNanoseconds = last.nanoseconds
        firstFrames = before.count
        lastFrames = frames.count
        sameFrames =
            isCut && !isSameAsFarAsKnown
            ? 0 : zip(before.reversed(), frames.reversed()).prefix { $0.isSameCall(as: $1) }.count
        looks = thread.sampleCount
        sameLooks = thread.runs.reduce(0) { sum, run in
            let stack = samples.stacks[run.stack].frames.prefix(isSameAsFarAsKnown ? common : .max)
            let isSame = stack.count == before.count && zip(stack, before).allSatisfy { $0.isSameCall(as: $1) }
            return isSame ? sum + run.count : sum
        }
        sleptThroughout = thread.runs.count == 1 && samples.stacks[start.stack].state != "R"
    }

    /// Whether all samples and the capture showed the same stack.
    public var isSame: Bool { sameFrames == firstFrames && sameFrames == lastFrames && sameLooks == looks }

    /// One line for the reader.
    ///
    /// - Parameter index: the thread's index in the report.
    package func line(threadIndex index: Int) -> String {
        func seconds(_ nanoseconds: Int64) -> String { Duration.nanoseconds(nanoseconds).seconds(fractionDigits: 2) }
        let moments = "\(seconds(firstNanoseconds)) s and \(seconds(lastNanoseconds)) s"
        if isSame {
            let between = looks > 1 ? ", and in all \(looks) samples" : ""
            return "Stages: thread \(index): same \(sameFrames) frames at \(moments)\(between)"
        }
        if sameFrames == firstFrames, sameFrames == lastFrames {
            return "Stages: thread \(index): same \(sameFrames) frames at \(moments), but others in between "
                + "(\(looks - sameLooks) of \(looks) samples)"
        }
        guard sameFrames > 0 else {
            return "Stages: thread \(index) moved between \(moments)"
        }
        return "Stages: thread \(index): outermost \(sameFrames) of \(lastFrames) frames the same at \(moments)"
    }
}
