// SPDX-License-Identifier: Apache-2.0

/// The CPU time that processes used between two instants.
public struct CPUUse: Sendable {
    /// A process and the CPU time that it used.
    public struct Consumer: Hashable, Sendable {
        /// The process ID.
        public let process: Int32
        /// Its name.
        public let name: String
        /// The CPU time.
        public let time: Duration
    }

    /// Processes change while they are read, so their parents could form a circle.
    private static let depth = 64

    /// Without those that used next to nothing.
    var consumers: [Consumer]
    /// The parents of the consumers, and of their ancestors.
    private var parents: [Int32: Int32]
    /// What all others used.
    var rest: Duration
    private let isComplete: Bool

    init(consumers: [Consumer], parents: [Int32: Int32], rest: Duration = .zero, isComplete: Bool = true) {
        self.consumers = consumers
        self.parents = parents
        self.rest = rest
        self.isComplete = isComplete
    }

    mutating func addAncestors(from stat: ProcessStat) {
        var next: ProcessStat? = stat
        while let process = next, parents[process.id] == nil {
            parents[process.id] = process.parent
            next = process.parent > 0 ? ProcessStat.read(process.parent) : nil
        }
    }

    /// The processes that used the most CPU time, highest first.
    public func most(_ count: Int) -> [Consumer] {
        consumers.sorted { ($1.time, $0.process) < ($0.time, $1.process) }.prefix(count).map(\.self)
    }

    /// The CPU time of all processes, and the part of a process and its descendants.
    ///
    /// Nil if there were too many processes to read them all.
    public func time(below process: Int32) -> (total: Duration, own: Duration)? {
        guard isComplete else { return nil }
        return consumers.reduce(into: (rest, .zero)) { times, consumer in
            times.0 += consumer.time
            if isBelow(process, consumer.process) { times.1 += consumer.time }
        }
    }

    private func isBelow(_ ancestor: Int32, _ process: Int32) -> Bool {
        var current = process
        for _ in 0..<Self.depth where current != ancestor {
            guard let parent = parents[current], parent > 0 else { return false }
            current = parent
        }
        return current == ancestor
    }
}
