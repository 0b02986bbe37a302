// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

/// The main thread's call tree over the samples from the time in which it did not answer.
public struct SampleDetails: Codable, Equatable, Sendable {
    /// A call and the number of samples that showed it.
    public struct Call: Codable, Equatable, Sendable {
        /// The number of enclosing calls.
        public var depth: Int
        /// The function, or, in brackets, the thread's position.
        public var function: String
        /// The name of the image.
        public var image: String?
        /// The file and line.
        public var source: String?
        /// The number of samples.
        public var count: Int
    }

    /// Consecutive samples that showed the same stack.
    public struct Span: Codable, Equatable, Sendable {
        /// The index of the first one, from 0.
        public var first: Int
        /// The number of samples.
        public var count: Int
        /// Index into ``SampleDetails/stacks``.
        public var stack: Int
    }

    /// A distinct stack of a sample.
    public struct Stack: Codable, Equatable, Sendable {
        /// The letter of the thread's state; `R` means on a CPU or waiting for one.
        public var state: String
        /// The thread's position: `blocked in futex`.
        public var place: String
    }

    /// The maximum number of calls to keep.
    private static let limit = 512
    private static let spanLimit = 512
    private static let stackLimit = 256

    /// The number of samples of the main thread.
    public var looks: Int
    /// The time from the start of the allowance to the first sample; nil in reports from versions that did not record
    /// it.
    public var beganNanoseconds: Int64?
    /// The samples in chronological order, as many as fit; nil in the same reports.
    public var spans: [Span]?
    /// The distinct stacks of the samples, by calls and state; nil in the same reports.
    public var stacks: [Stack]?
    /// The average time between two samples.
    public var intervalNanoseconds: Int64
    /// The call tree, outermost call first, the heaviest of each level first.
    public var calls: [Call]

    /// Builds the call tree of a thread; nil if no sample shows the thread.
    init?(_ samples: ProcessSamples, main: Int, began: Duration) {
        guard let thread = samples.threads.first(where: { $0.id == main }) else { return nil }
        let tree = CallTree(of: thread, in: samples)
        looks = thread.sampleCount
        beganNanoseconds = began.nanoseconds
        intervalNanoseconds = samples.interval.nanoseconds
        calls = []
        visit(0, 0, tree)
        note(thread.runs, of: samples)
    }

    private mutating func note(_ runs: [ProcessSamples.Run], of samples: ProcessSamples) {
        var spans: [Span] = []
        var stacks: [Stack] = []
        var numbers: [Int: Int] = [:]
        for run in runs.prefix(Self.spanLimit) where samples.stacks.indices.contains(run.stack) {
            if numbers[run.stack] == nil {
                guard stacks.count < Self.stackLimit else { break }
                numbers[run.stack] = stacks.count
                let stack = samples.stacks[run.stack]
                stacks.append(
                    Stack(state: stack.state.singleLine(limit: 8), place: stack.place.singleLine(limit: 128)))
            }
            spans.append(Span(first: run.first, count: run.count, stack: numbers[run.stack] ?? 0))
        }
        self.spans = spans
        self.stacks = stacks
    }

    private mutating func visit(_ index: Int, _ depth: Int, _ tree: CallTree) {
        for child in tree.children(of: index) {
            guard calls.count < Self.limit else { return }
            let node = tree.nodes[child]
            calls.append(
                Call(
                    depth: depth, function: node.isPlace ? "[\(node.name)]" : node.name, image: node.image,
                    source: node.source, count: node.count))
            visit(child, depth + 1, tree)
        }
    }
}
