// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogPolicy
import WatchdogRecording
package import WatchdogWire

/// What an app marked in its launch: intervals, events, tasks, the first frame and the first use.
///
/// Times are reported by the app. Marks over the limit are counted, not stored.
package struct LaunchTrace: Hashable, Sendable {
    /// An interval, or an event without a duration.
    package struct Interval: Hashable, Sendable {
        package let name: String
        package let category: String
        package let id: UInt64
        package let start: Instant
        /// Nil until it has ended.
        package var end: Instant?
        package let isOnMainThread: Bool
        /// Whether it has no duration.
        package let isEvent: Bool
    }

    /// Work that extends what is measured as the launch, as the supervisor saw it.
    package struct Task: Hashable, Sendable {
        package let name: String
        package let start: Instant
        /// Nil until it has ended.
        package var end: Instant?

        package init(name: String, start: Instant, end: Instant? = nil) {
            self.name = name
            self.start = start
            self.end = end
        }
    }

    package static let limit = 512
    /// The most tasks of a launch: Apple's `MXMetricManager.extendLaunchMeasurement(forTaskID:)` takes 16.
    static let taskLimit = 16

    package private(set) var intervals: [Interval] = []
    /// When the launch was requested; nil for one that another watchdogd began.
    package private(set) var requested: Instant?
    /// When the app's library said hello.
    package private(set) var hello: Instant?
    /// When the app reported its first frame.
    package private(set) var firstFrame: Instant?
    /// When the app reported that it does what it was launched for.
    package private(set) var useful: Instant?
    /// What the kernel recorded of the program's start.
    private(set) var startup = StartupReading()
    /// The event that the app was launched for; nil for other launches.
    @Boxed package private(set) var cause: LaunchCause?
    /// How the first thread had spent its time at the hello and at the first frame.
    @Boxed private(set) var helloAccount: ThreadTime?
    @Boxed private(set) var firstFrameAccount: ThreadTime?
    /// The tasks that extend the launch, in the order in which they began.
    package private(set) var tasks: [Task] = []
    /// The kinds of marks that ``newMarks(launchedAt:ready:)`` has returned.
    private var isFirstFrameTold = false
    private var isUsefulTold = false
    private var isExtensionTold = false
    /// How far the app's clock, which its signposts use, is ahead of ours.
    package var clockLead: Duration = .zero
    /// Marks over the limit, or that the app could not send.
    package private(set) var lost = 0

    /// An empty trace.
    package init() {}

    /// - Parameter isReady: whether the launch is over, so that a task can begin only while another is open.
    package mutating func note(_ message: ClientMessage, at now: Instant, isReady: Bool = false) {
        if message.isFirstFrame { noteFirstFrame(at: now) }
        if message.isUseful { noteUse(at: now) }
        for name in message.launchTasksBegun { begin(name, at: now, isReady: isReady) }
        for name in message.launchTasksEnded { end(name, at: now) }
        lost += min(message.signpostsLost ?? 0, 1 << 32)
        for signpost in message.signposts { note(signpost) }
    }

    mutating func noteRequest(at now: Instant) { requested = now }

    mutating func noteCause(_ event: LaunchingEvent) { cause = LaunchCause(event) }

    /// Notes what became of the event that the app was launched for: it is the first one that the app gets.
    mutating func note(_ notice: LifecycleNotice) {
        guard cause?.fate == .awaited else { return }
        switch notice {
        case .handled(_, let after): cause?.fate = .handled(after: after)
        case .lost: cause?.fate = .lost
        case .refused(.event, let refusal) where refusal != .tooManyEvents: cause?.fate = .refused(refusal)
        default: break
        }
    }

    mutating func noteHello(at now: Instant) {
        guard hello == nil else { return }
        hello = now
        helloAccount = startup.log?.account(at: now)
    }

    /// Notes what the kernel has recorded until now.
    package mutating func note(_ reading: StartupReading) { startup = reading }

    /// Whether there is more to say of the launch than its length.
    var hasMarks: Bool {
        firstFrame != nil || useful != nil || !intervals.isEmpty || !tasks.isEmpty || cause != nil
    }

    mutating func noteFirstFrame(at now: Instant) {
        guard firstFrame == nil else { return }
        firstFrame = now
        firstFrameAccount = startup.log?.account(at: now)
    }

    mutating func noteUse(at now: Instant) {
        if useful == nil { useful = now }
    }

    // MARK: - Tasks

    private var hasOpenTask: Bool { tasks.contains { $0.end == nil } }

    private mutating func begin(_ task: String, at now: Instant, isReady: Bool) {
        let name = task.singleLine(limit: 64)
        guard !isReady || hasOpenTask, tasks.count < Self.taskLimit, !tasks.contains(where: { $0.name == name }) else {
            lost += 1
            return
        }
        tasks.append(Task(name: name, start: now))
    }

    private mutating func end(_ task: String, at now: Instant) {
        let name = task.singleLine(limit: 64)
        guard let index = tasks.firstIndex(where: { $0.name == name && $0.end == nil }) else { return lost += 1 }
        tasks[index].end = now
    }

    /// From the launch to the end of its last task, but no earlier than ready; nil while a task is open or without
    /// tasks.
    package func extended(launchedAt: Instant, ready: Duration) -> Duration? {
        guard !tasks.isEmpty, !hasOpenTask, let end = tasks.compactMap(\.end).max() else { return nil }
        return max(ready, end - launchedAt)
    }

    // MARK: - Marks

    /// A mark and its time from the launch.
    typealias NewMark = (mark: WatchdogPolicy.LaunchMark, after: Duration)

    /// The marks since the last call, each with its time from the launch; each is returned once.
    mutating func newMarks(launchedAt: Instant, ready: Duration?) -> [NewMark] {
        var marks: [NewMark] = []
        if let firstFrame, !isFirstFrameTold {
            isFirstFrameTold = true
            marks.append((.firstFrame, max(.zero, firstFrame - launchedAt)))
        }
        if let useful, !isUsefulTold {
            isUsefulTold = true
            marks.append((.useful, max(.zero, useful - launchedAt)))
        }
        if !isExtensionTold, let ready, let extended = extended(launchedAt: launchedAt, ready: ready) {
            isExtensionTold = true
            marks.append((.extended(tasks: tasks.count), extended))
        }
        return marks
    }

    // MARK: - Signposts

    private mutating func note(_ signpost: ClientMessage.Signpost) {
        let (time, isOverflown) = signpost.nanoseconds.subtractingReportingOverflow(clockLead.nanoseconds)
        let at = Instant(nanoseconds: isOverflown ? .min : time)
        if signpost.phase == .end {
            let open = intervals.lastIndex {
                $0.end == nil && !$0.isEvent && $0.id == signpost.id && $0.name == signpost.name
                    && $0.category == signpost.category
            }
            if let open { intervals[open].end = max(intervals[open].start, at) } else { lost += 1 }
            return
        }
        guard intervals.count < Self.limit else {
            lost += 1
            return
        }
        intervals.append(
            Interval(
                name: signpost.name.singleLine(limit: 64), category: signpost.category.singleLine(limit: 64),
                id: signpost.id, start: at, end: nil, isOnMainThread: signpost.isOnMainThread,
                isEvent: signpost.phase == .event))
    }
}
