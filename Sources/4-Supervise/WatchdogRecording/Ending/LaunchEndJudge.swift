// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Decides the end of a launch, and its kind.
///
/// Without a goal, the best sign of the program is used: its own report (ready or first frame), else a listening
/// socket, else its first idle moment, else its exit. After a greeting, the recording waits for a report.
///
/// A program may be useful later than it is ready. So after its report, the recording continues until the program is
/// useful, or has sent nothing for ``quietLimit`` without an open launch task. With a goal, the recording continues
/// only for an open launch task.
public struct LaunchEndJudge: Sendable {
    /// An event of the launch.
    public enum Event: Hashable, Sendable {
        case hello, firstFrame, ready, useful
        case taskBegun, taskEnded
        /// The program has set a signpost.
        case signpost
        /// A listening socket was seen.
        case listening
        /// The main thread has waited for events since this time.
        case idle(since: Instant)
        case exited(code: Int32)
        case killed(signal: Int32)
        /// No event; only time has passed.
        case passed
    }

    /// The time for which a main thread must wait for events to count as idle.
    public static let idleLimit = Duration.milliseconds(100)
    /// The time in which a program that listens, but is never idle, can still report that it is ready.
    public static let listeningGrace = Duration.seconds(1)

    /// The time without messages after which the launch of a ready program ends, if it has not reported that it is
    /// useful.
    public static let quietLimit = Duration.milliseconds(500)

    /// The end of the launch and its time; nil until then.
    public private(set) var end: (kind: LaunchEnd.Kind, time: Instant, code: Int32?)?
    /// Whether the recording may stop.
    public private(set) var isDone = false

    private let goal: LaunchGoal?
    private let deadline: Instant
    private var hasSaidHello = false
    private var openTasks = 0
    private var isUseful = false
    private var isGone = false
    /// The time of the program's latest message.
    private var lastWord: Instant?
    private var listening: Instant?
    private var idle: Instant?

    /// Creates a judge at the time of the request.
    public init(goal: LaunchGoal?, requested: Instant, limit: Duration) {
        self.goal = goal
        deadline = requested + limit
    }

    /// The time at which ``handle(_:at:)`` must be called even without an event; nil if the recording may stop.
    public var nextDeadline: Instant? {
        if isDone { return nil }
        if end != nil { return Instant.earliest(deadline, quietEnd) }
        return Instant.earliest(deadline, goal == nil ? listening.map { $0 + Self.listeningGrace } : nil)
    }

    /// The time at which a ready program has been quiet for long enough; nil if there is no such wait.
    private var quietEnd: Instant? {
        guard goal == nil, !isUseful, openTasks == 0, let end, end.kind == .ready || end.kind == .firstFrame else {
            return nil
        }
        return max(end.time, lastWord ?? end.time) + Self.quietLimit
    }

    /// Handles one event.
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
            wentIdle(at: since)
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

    private mutating func wentIdle(at since: Instant) {
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
    /// Whether the event is a report of the program itself.
    fileprivate var isWord: Bool {
        switch self {
        case .hello, .firstFrame, .ready, .useful, .taskBegun, .taskEnded, .signpost: true
        case .listening, .idle, .exited, .killed, .passed: false
        }
    }
}
