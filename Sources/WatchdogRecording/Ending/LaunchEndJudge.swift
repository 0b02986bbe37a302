// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Decides when a launch has ended, and by what.
///
/// Without a goal, the best sign that the program gives counts: its own word (ready or first frame), else a listening
/// socket, else its first idle moment, else its exit. The recording waits for a program that has said hello.
///
/// A program may be useful later than it is ready. So after its own word, the recording continues until the program is
/// useful, or has said nothing for ``quietLimit`` while none of its launch tasks is open. With a goal, only an open launch
/// task keeps it going.
public struct LaunchEndJudge: Sendable {
    /// What happened.
    public enum Event: Hashable, Sendable {
        case hello, firstFrame, ready, useful
        case taskBegun, taskEnded
        /// The program has set a signpost.
        case signpost
        /// A listening socket was seen.
        case listening
        /// The main thread has waited for events since then.
        case idle(since: Instant)
        case exited(code: Int32)
        case killed(signal: Int32)
        /// Nothing but time has passed.
        case passed
    }

    /// How long a main thread waits for events before it counts as idle.
    public static let idleLimit = Duration.milliseconds(100)
    /// How long a program that listens, but never idles, is given to report that it is ready.
    public static let listeningGrace = Duration.seconds(1)

    /// How long a program that is ready, and not known to be useful, says nothing before its launch counts as over.
    public static let quietLimit = Duration.milliseconds(500)

    /// What ended the launch, and when; nil until then.
    public private(set) var end: (kind: LaunchEnd.Kind, time: Instant, code: Int32?)?
    /// Whether the recording may stop.
    public private(set) var isDone = false

    private let goal: LaunchGoal?
    private let deadline: Instant
    private var hasSaidHello = false
    private var openTasks = 0
    private var isUseful = false
    private var isGone = false
    /// When the program said something last.
    private var lastWord: Instant?
    private var listening: Instant?
    private var idle: Instant?

    /// Begins with the request.
    public init(goal: LaunchGoal?, requested: Instant, limit: Duration) {
        self.goal = goal
        deadline = requested + limit
    }

    /// When to call ``handle(_:at:)`` even if nothing happens; nil when the recording may stop.
    public var nextDeadline: Instant? {
        if isDone { return nil }
        if end != nil { return Instant.earliest(deadline, quietEnd) }
        return Instant.earliest(deadline, goal == nil ? listening.map { $0 + Self.listeningGrace } : nil)
    }

    /// When a program that is ready has been quiet for long enough; nil if it is not waited for.
    private var quietEnd: Instant? {
        guard goal == nil, !isUseful, openTasks == 0, let end, end.kind == .ready || end.kind == .firstFrame else {
            return nil
        }
        return max(end.time, lastWord ?? end.time) + Self.quietLimit
    }

    /// Takes one event.
    public mutating func handle(_ event: Event, at now: Instant) {
        guard !isDone else { return }
        if event.isWord { lastWord = now }
        switch event {
        case .hello: hasSaidHello = true
        case .firstFrame: if wants(.firstFrame) { decide(.firstFrame, now) }
        case .ready: if wants(.ready) { decide(.ready, now) }
        case .useful:
            isUseful = true
            if goal == .useful { decide(.useful, now) }
        case .taskBegun: openTasks = min(openTasks + 1, 1 << 20)
        case .taskEnded: openTasks = max(openTasks - 1, 0)
        case .listening:
            listening = listening ?? now
            if goal == .listen { decide(.listen, now) }
        case .idle(let since):
            idle = idle ?? since
            settle(at: since)
        case .exited(let code):
            isGone = true
            decide(.exit, now, code)
        case .killed(let signal):
            isGone = true
            decide(.killed, now, signal)
        case .signpost, .passed: break
        }
        if let listening, goal == nil, !hasSaidHello, now >= listening + Self.listeningGrace {
            decide(.listen, listening)
        }
        if now >= deadline { decideByDeadline() }
        isDone = end != nil && (isGone || now >= deadline || openTasks == 0 && quietEnd.map { now >= $0 } ?? true)
    }

    private func wants(_ wanted: LaunchGoal) -> Bool { goal == nil || goal == wanted }

    private mutating func settle(at since: Instant) {
        if goal == .idle { decide(.idle, since) }
        guard goal == nil, !hasSaidHello else { return }
        if let listening { decide(.listen, listening) } else { decide(.idle, since) }
    }

    private mutating func decide(_ kind: LaunchEnd.Kind, _ time: Instant, _ code: Int32? = nil) {
        if end == nil { end = (kind, time, code) }
    }

    private mutating func decideByDeadline() {
        if goal == nil, let listening { decide(.listen, listening) }
        if goal == nil, let idle { decide(.idle, idle) }
        decide(.timeLimit, deadline)
    }
}

extension LaunchEndJudge.Event {
    /// Whether the program has said it.
    fileprivate var isWord: Bool {
        switch self {
        case .hello, .firstFrame, .ready, .useful, .taskBegun, .taskEnded, .signpost: true
        case .listening, .idle, .exited, .killed, .passed: false
        }
    }
}
