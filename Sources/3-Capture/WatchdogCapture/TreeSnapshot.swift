// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// The other processes of an app, captured together with its main process.
public struct TreeSnapshot: Sendable {
    /// One process.
    public struct Member: Sendable {
        /// The kernel's facts about the process, before it was stopped.
        public let stat: ProcessStat
        /// Its arguments, not redacted; empty if they were not read in time.
        public internal(set) var arguments: [ByteString] = []
        /// The wait of its first thread; nil if unknown.
        public internal(set) var waits: WaitChain?
        /// Its stacks; nil if they were not captured.
        public internal(set) var snapshot: Snapshot?
        /// The reason why there are no stacks; nil if there are.
        public internal(set) var failure: String? = "there was no time"

        /// Creates a member without stacks.
        init(_ stat: ProcessStat) { self.stat = stat }
    }

    /// The processes, at most as many as ``TreeLimits/processes``.
    public internal(set) var members: [Member] = []
    /// Notes about omitted processes, one sentence each.
    public internal(set) var notes: [String] = []

    /// Creates an empty value.
    public init() {}

    /// The same processes without the stacks for which `hasRoom` returns false.
    public func dropping(unless hasRoom: (Snapshot) -> Bool) -> TreeSnapshot {
        var result = self
        for (index, member) in members.enumerated() {
            guard let snapshot = member.snapshot, !hasRoom(snapshot) else { continue }
            result.members[index].snapshot = nil
            result.members[index].failure = "the stacks of other waiting reports take too much memory"
        }
        return result
    }
}

/// The limits of a capture for the processes of an app other than its main process.
struct TreeLimits: Sendable, Equatable {
    /// The maximum number of processes.
    var processes = 15
    /// The maximum number of threads of all processes.
    var threads = 512
    /// The maximum number of bytes of stacks of all processes.
    var bytes = 24 << 20
    /// The maximum number of descriptors of their mapped files, each counted once.
    var descriptors = 192
    /// The total time; the kill of the main process waits for it.
    var time = Duration.milliseconds(250)
    /// The time in which the threads of one process must stop.
    var stopTimeout = Duration.milliseconds(50)

    /// The time for one app, which shrinks while other captures wait: their apps must be killed, too.
    func time(before waiting: Int) -> Duration { time / (waiting + 1) }
}
