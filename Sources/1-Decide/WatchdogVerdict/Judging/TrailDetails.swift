// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The chain of processes to which the main thread's wait leads, and its root.
///
/// Text from processes is made safe for terminals and truncated when the value is created.
public struct TrailDetails: Codable, Hashable, Sendable {
    /// A process on the trail.
    public struct Hop: Codable, Hashable, Sendable {
        /// How the process before leads to it.
        public var link: TrailLink
        /// The process ID.
        public var process: Int
        /// The name of the process (`comm`), which it can set.
        public var name: String
        /// How much may be revealed about it.
        public var sight: TrailSight
        /// The thread that was looked at.
        public var thread: Int
        /// The letter of that thread's state.
        public var state: String
        /// The wait of that thread; nil unless it is blocked in a system call that may be shown.
        public var wait: WaitDetails?
        /// Whether it waits for a request, like an idle server.
        public var isIdle: Bool
        /// The activity: `sleeps, from refresh (cache.py:12)`; empty before ``TrailDetails/judged(by:pid:processes:)``.
        public var deed = ""

        /// Creates a hop that is not judged yet.
        public init(
            link: TrailLink, process: Int, name: String, sight: TrailSight, thread: Int, state: String,
            wait: WaitDetails? = nil,
            isIdle: Bool = false
        ) {
            self.link = link
            self.process = process
            self.name = name.singleLine(limit: 64)
            self.sight = sight
            self.thread = thread
            self.state = state.singleLine(limit: 8)
            self.wait = sight == .whole ? wait : nil
            self.isIdle = isIdle
        }
    }

    /// The maximum number of processes to follow.
    public static let longest = 5

    /// The processes, nearest first.
    public var hops: [Hop]
    /// The target of a cycle's last link: 0 for the main process, 1 for the first hop, and so on; nil without a cycle.
    public var cycleStart: Int?
    /// How the last process leads back; nil if it does not.
    public var closing: TrailLink?
    /// Whether the last process waits for yet another one, which was not looked at.
    public var isCut: Bool
    /// The ID of the process that does not itself wait for another one; nil in a cycle, and if the trail is cut.
    public var root: Int?
    /// The trail in one line: `web waits for a reply of redis (pid 12), which runs a Lua script`; empty until it is
    /// judged.
    public var line = ""

    /// Creates a trail that is not judged yet; nil if it leads nowhere.
    public init?(hops: [Hop], cycleStart: Int? = nil, closing: TrailLink? = nil, isCut: Bool = false) {
        guard !hops.isEmpty else { return nil }
        let kept = Array(hops.prefix(Self.longest))
        self.hops = kept
        self.cycleStart = cycleStart.flatMap { (0...kept.count).contains($0) ? $0 : nil }
        self.closing = closing
        self.isCut = isCut
    }

    /// The same trail with a process in front, which waits for the first one.
    public func beginning(with hop: Hop) -> TrailDetails? {
        let all = [hop] + hops
        let isCut = isCut || all.count > Self.longest
        return TrailDetails(
            hops: all, cycleStart: isCut ? nil : cycleStart.map { $0 + 1 }, closing: isCut ? nil : closing, isCut: isCut
        )
    }

    /// Adds each process's activity, the root, and the line.
    ///
    /// - Parameters:
    ///   - app: the name of the app.
    ///   - pid: the ID of its main process.
    ///   - processes: the captured processes, including those of the app.
    public func judged(by app: String, pid: Int, processes: [OtherProcess]) -> TrailDetails {
        var trail = self
        for index in hops.indices {
            let capture = processes.first { $0.pid == hops[index].process }?.capture
            // A process of the app is shown completely, because the report has its stacks anyway.
            if capture != nil, hops[index].sight == .outside { trail.hops[index].sight = .whole }
            let deed = HopDeed(trail.hops[index], capture)
            trail.hops[index].isIdle = deed.isIdle
            trail.hops[index].deed = deed.words
        }
        trail.root = cycleStart == nil && !isCut ? hops.last?.process : nil
        trail.line = trail.words(app.singleLine(limit: 64), pid)
        return trail
    }

    private func words(_ app: String, _ pid: Int) -> String {
        let nouns = hops.map { Self.noun($0.link, "\($0.name) (pid \($0.process))") }
        let way = "\(app) waits for " + nouns.joined(separator: ", which waits for ")
        if let cycleStart {
            let name = cycleStart == 0 ? app : hops[cycleStart - 1].name
            return "\(way), which waits for \(Self.noun(closing ?? .reply, name)): a cycle"
        }
        if isCut { return "\(way), which waits for yet another process" }
        return way + (hops.last.map { ", which \($0.deed)" } ?? "")
    }

    private static func noun(_ link: TrailLink, _ name: String) -> String {
        switch link {
        case .reply: "a reply of \(name)"
        case .room: "\(name) to read from a connection"
        case .acceptance: "\(name) to accept a connection"
        case .output: "the output of \(name)"
        case .drain: "\(name) to read from a pipe"
        case .fileLock: "a file lock held by \(name)"
        case .recordLock: "a record lock held by \(name)"
        case .mutex: "a lock in memory held by \(name)"
        case .child: "its child \(name)"
        case .systemV: "\(name), the last to use a System V semaphore or message queue"
        case .fileServer: "the file server \(name)"
        }
    }
}

/// The activity of a process on a trail, as far as it may be shown.
private struct HopDeed {
    let words: String
    let isIdle: Bool

    private init(_ words: String, isIdle: Bool = false) {
        self.words = words
        self.isIdle = isIdle
    }

    private static let idle = HopDeed("is idle: it waits for a request", isIdle: true)

    init(_ hop: TrailDetails.Hop, _ capture: CapturedProcess?) {
        let thread = capture?.threads.first { $0.id == hop.thread }
        let call = hop.wait.flatMap { SystemCall.blocking($0.syscall) }
        // Ignore the stack of a thread that has moved between the two samples.
        let stack = thread.flatMap { thread -> NamedStack? in
            guard thread.state == hop.state, SystemCall.blocking(thread.syscall)?.name == call?.name else { return nil }
            return capture.map { NamedStack(thread, in: $0) }
        }
        let origin = stack?.origin ?? ""
        let subject = hop.wait.flatMap { WaitText([$0]).subject }.map { " (\($0))" } ?? ""
        let place = call?.name.map { " in \($0)\(subject)" } ?? ""
        switch hop.state {
        case "T": self.init("is stopped")
        case "F": self.init("is frozen with its cgroup")
        case "t": self.init("is stopped by a tracer")
        case "Z", "X": self.init("has ended")
        default:
            guard hop.sight != .refused else {
                self.init("watchdogd may not look at")
                return
            }
            if hop.isIdle || stack.map({ EventLoop($0, hasReturned: true).finding != nil }) == true {
                self = Self.idle
            } else if hop.sight == .outside {
                let words = ["R": "runs", "D": "is in uninterruptible sleep"]
                self.init("\(words[hop.state] ?? "is asleep"), and which the app's user may not look at")
            } else if hop.state == "R" {
                let script = stack.flatMap { stack in
                    FindingRule.all.first { $0.kind == .embeddedScript }?
                        .finding(in: stack, HangEvidence(processorCount: 1))
                }
                // One that has just started does not compute yet.
                let isNew = thread.map { $0.runNanoseconds < OtherThread.leastRun } ?? false
                self.init(script != nil ? "runs a Lua script" : isNew ? "runs\(origin)" : "computes\(origin)")
            } else if hop.state == "D" {
                self.init("is in uninterruptible sleep\(place)\(origin)")
            } else if call?.name?.hasSuffix("nanosleep") == true {
                self.init("sleeps\(origin)")
            } else {
                self.init(place.isEmpty ? "is asleep\(origin)" : "is blocked\(place)\(origin)")
            }
        }
    }
}
