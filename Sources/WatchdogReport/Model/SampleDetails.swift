// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// The main thread's call tree over the looks that were taken while it did not answer.
public struct SampleDetails: Codable, Equatable, Sendable {
    /// A call and how many looks showed it.
    public struct Call: Codable, Equatable, Sendable {
        /// Calls around it.
        public var depth: Int
        /// The function, or in brackets where the thread was.
        public var function: String
        /// The image's name.
        public var image: String?
        /// File and line.
        public var source: String?
        /// Looks.
        public var count: Int
    }

    /// Looks one after the other that showed the same.
    public struct Span: Codable, Equatable, Sendable {
        /// The first of them, from 0.
        public var first: Int
        /// How many.
        public var count: Int
        /// Index into ``SampleDetails/stacks``.
        public var stack: Int
    }

    /// What a look showed.
    public struct Stack: Codable, Equatable, Sendable {
        /// The letter of the thread's state; `R` is on a CPU or waiting for one.
        public var state: String
        /// Where it was: `blocked in futex`.
        public var place: String
    }

    /// Calls that are kept.
    private static let limit = 512
    private static let spanLimit = 512
    private static let stackLimit = 256

    /// Looks at the main thread.
    public var looks: Int
    /// From the start of the allowance to the first look; nil in reports of versions that did not note it.
    public var beganNanoseconds: Int64?
    /// The looks in order of time, as far as there is room; nil as above.
    public var spans: [Span]?
    /// What they showed, each different calls or another state; nil as above.
    public var stacks: [Stack]?
    /// From one look to the next, on average.
    public var intervalNanoseconds: Int64
    /// The call tree, outermost first, the heaviest of each level first.
    public var calls: [Call]

    /// Makes the call tree of a thread; nil when it was not seen.
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
