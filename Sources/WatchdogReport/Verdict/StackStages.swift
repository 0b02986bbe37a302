// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// The main thread's stack at two moments of one allowance: the strongest proof that it does not get on, or that it does.
public struct StackStages: Codable, Hashable, Sendable {
    /// From the start of the allowance to the first look.
    public var firstNanoseconds: Int64
    /// From the start of the allowance to the last look.
    public var lastNanoseconds: Int64
    /// Outermost calls that are the same in both; 0 where one of them is cut, and its outermost calls are not known.
    public var sameFrames: Int
    /// Calls of the first stack.
    public var firstFrames: Int
    /// Calls of the last stack.
    public var lastFrames: Int
    /// Looks at the main thread between them, without the last.
    public var looks: Int
    /// How many of them showed the first stack.
    public var sameLooks: Int
    /// The first stack was seen before a CPU was used again: the thread did not run at all in between.
    public var sleptThroughout: Bool

    /// A stack of fewer calls than these is copied whole by every look, and is never cut.
    private static let deep = 32

    /// Compares stacks.
    ///
    /// - Parameters:
    ///   - samples: looks without a stop, the first at half of the allowance or earlier.
    ///   - frames: the stack at the end, innermost first; empty when there is none.
    ///   - main: the thread that runs the main loop.
    ///   - first: from the start of the allowance to the first look.
    ///   - last: from the start of the allowance to the end.
    /// - Returns: nil when one of the two stacks is missing.
    public init?(samples: ProcessSamples, frames: [Frame], main: Int, first: Duration, last: Duration) {
        guard let thread = samples.threads.first(where: { $0.id == main }), let start = thread.runs.first else {
            return nil
        }
        var before = samples.stacks[start.stack].frames
        var frames = frames
        guard !before.isEmpty, !frames.isEmpty else { return nil }
        // A deep stack is cut, earlier by looks than at the end: then what both have is compared.
        let common = min(before.count, frames.count)
        let isCut = common >= Self.deep && before.count != frames.count
        let isSameAsFarAsKnown = isCut && zip(before, frames).allSatisfy { $0.address == $1.address }
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
            ? 0 : zip(before.reversed(), frames.reversed()).prefix { $0.address == $1.address }.count
        looks = thread.sampleCount
        sameLooks = thread.runs.reduce(0) { sum, run in
            let stack = samples.stacks[run.stack].frames.prefix(isSameAsFarAsKnown ? common : .max)
            return stack.map(\.address) == before.map(\.address) ? sum + run.count : sum
        }
        sleptThroughout = thread.runs.count == 1 && samples.stacks[start.stack].state != "R"
    }

    /// True when every look and the end showed the same stack.
    public var isSame: Bool { sameFrames == firstFrames && sameFrames == lastFrames && sameLooks == looks }

    /// One line for the reader.
    ///
    /// - Parameter index: the number under which the report lists the thread.
    func line(threadIndex index: Int) -> String {
        func seconds(_ nanoseconds: Int64) -> String { Duration.nanoseconds(nanoseconds).seconds(fractionDigits: 2) }
        let moments = "\(seconds(firstNanoseconds)) s and \(seconds(lastNanoseconds)) s"
        if isSame {
            let between = looks > 1 ? ", and in all \(looks) looks from the first on" : ""
            return "Stages: thread \(index): same \(sameFrames) frames at \(moments)\(between)"
        }
        if sameFrames == firstFrames, sameFrames == lastFrames {
            return "Stages: thread \(index): same \(sameFrames) frames at \(moments), but others in between "
                + "(\(looks - sameLooks) of \(looks) looks)"
        }
        guard sameFrames > 0 else {
            return "Stages: thread \(index): other frames at \(moments): it moved in between"
        }
        return "Stages: thread \(index): outermost \(sameFrames) of \(lastFrames) frames the same at \(moments): "
            + "it moved in between"
    }
}
