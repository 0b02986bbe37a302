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

    /// Calls that are kept.
    private static let limit = 512

    /// Looks at the main thread.
    public var looks: Int
    /// From one look to the next, on average.
    public var intervalNanoseconds: Int64
    /// The call tree, outermost first, the heaviest of each level first.
    public var calls: [Call]

    /// Makes the call tree of a thread; nil when it was not seen.
    init?(_ samples: ProcessSamples, main: Int) {
        guard let thread = samples.threads.first(where: { $0.id == main }) else { return nil }
        let tree = CallTree(of: thread, in: samples)
        looks = thread.sampleCount
        intervalNanoseconds = samples.interval.nanoseconds
        calls = []
        visit(0, 0, tree)
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
