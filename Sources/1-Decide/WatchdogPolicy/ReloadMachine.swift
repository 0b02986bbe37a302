// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// One reload of an app: its commands, one after the other, and then the app's own confirmation if it gives one.
///
/// After `RELOADING=1` from the app, the reload waits for `READY=1`. Whether the app will send it is not known in
/// advance: an app that reported readiness at its launch gets a moment for it after the last command.
///
/// The allowance is judged as all others are: it pauses while the app is stopped, frozen or traced, and gets credit for
/// the time in which the app waited for a CPU.
///
/// Invariants: one command at a time; exactly one ``Effect/finish(_:)``, which is the last effect; no command runs and
/// nothing is waited for beyond the allowance.
///
/// Isolation: a value; its holder serializes the calls.
public struct ReloadMachine: Hashable, Sendable {
    /// What happened.
    public enum Event: Hashable, Sendable {
        /// Somebody requested the reload; the first event.
        case begun
        /// The running command has ended.
        case commandEnded(isSuccess: Bool)
        /// `RELOADING=1`.
        case announced
        /// `READY=1`.
        case ready
        /// `EXTEND_TIMEOUT_USEC=…`; the token must change from one request to the next to count as progress.
        case extensionRequested(by: Duration, progress: String?)
        /// ``ReloadMachine/nextDeadline`` was reached.
        case deadlineReached
        /// The answer to ``Effect/inspect(id:)``: the app's main thread since ``begun``.
        case inspected(id: Int, Evidence)
        /// This supervisor took over from the previous one, and an examination may be lost.
        case supervisorReturned
    }

    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Run the command at this index; answer with ``Event/commandEnded(isSuccess:)``.
        case run(Int)
        /// Kill the running command, with everything it has started.
        case cancel
        /// Examine the app; answer with ``Event/inspected(id:_:)`` and the same id.
        case inspect(id: Int)
        /// Report that the allowance pauses.
        case paused(Pause)
        /// Report that the allowance runs again.
        case resumed(after: Duration)
        /// Report that the app waited for a CPU this long, which was added to the allowance.
        case credited(Duration)
        /// Report that the supervisor overslept the deadline, which has moved.
        case overslept(by: Duration)
        /// Report that the app extended the allowance.
        case extended(by: Duration)
        /// Report that the cap on extensions is used up.
        case extensionCapped
        /// The reload is over.
        case finish(Outcome)
    }

    /// How the reload ended.
    public enum Outcome: Hashable, Sendable {
        /// All commands succeeded; `isConfirmed` if the app itself confirmed the reload.
        case done(isConfirmed: Bool)
        /// The command at this index failed.
        case commandFailed(Int)
        /// The command at this index timed out.
        case commandTimedOut(Int)
        /// The app announced a reload, but did not become ready in time.
        case appTimedOut
    }

    /// The time after the last command in which an app must announce a reload.
    public static let announcementTime: Duration = .milliseconds(250)

    /// When it began.
    public let begun: Instant
    /// The allowance for the whole reload, including extensions.
    public private(set) var allowance: Duration

    private let commandCount: Int
    private let fairness: Fairness
    private let mayAnnounce: Bool
    private var judgement: Judgement
    private var numbers = Numbers()
    private var progress: Progress
    private var current: Int?
    private var isReloading = false
    private var hasReloaded = false
    private var announcementEnd: Instant?
    private var isOver = false

    /// Creates a reload that starts now.
    ///
    /// - Parameters:
    ///   - commandCount: the number of commands, at least one.
    ///   - allowance: for the whole reload.
    ///   - fairness: limits the extensions that the app can request.
    ///   - lastProgress: the latest progress token before the reload.
    ///   - mayAnnounce: whether the app sent `READY=1` at its launch.
    ///   - now: the start.
    public init(
        commandCount: Int, allowance: Duration, fairness: Fairness, lastProgress: String?, mayAnnounce: Bool,
        at now: Instant
    ) {
        precondition(commandCount > 0 && allowance > .zero, "a reload needs a command and time for it")
        self.commandCount = commandCount
        self.allowance = allowance
        self.fairness = fairness
        progress = Progress(lastProgress)
        self.mayAnnounce = mayAnnounce
        begun = now
        judgement = Judgement(.sceneUpdate, from: now, allowance: allowance)
    }

    /// The index of the running command; nil if none is running.
    public var running: Int? { current.flatMap { isOver || $0 == commandCount ? nil : $0 } }

    /// When ``Event/deadlineReached`` must be delivered; nil when the reload is over.
    public var nextDeadline: Instant? {
        guard !isOver, let due = judgement.due else { return nil }
        return min(due, announcementEnd ?? due)
    }

    /// Handles an event; returns what to do, in order.
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        guard !isOver else { return [] }
        switch event {
        case .begun:
            guard current == nil else { return [] }
            current = 0
            return [.run(0)]
        case .commandEnded(let isSuccess):
            guard let index = current, index < commandCount else { return [] }
            guard isSuccess else { return finish(.commandFailed(index)) }
            current = index + 1
            guard index + 1 == commandCount else { return [.run(index + 1)] }
            return commandsEnded(at: now)
        case .announced:
            isReloading = true
            hasReloaded = false
            announcementEnd = nil
            return []
        case .ready:
            guard isReloading else { return [] }
            isReloading = false
            hasReloaded = true
            return current == commandCount ? finish(.done(isConfirmed: true)) : []
        case .extensionRequested(let duration, let progress):
            return extend(by: duration, progress, at: now)
        case .deadlineReached:
            return deadlineReached(at: now)
        case .inspected(let id, let evidence):
            return follow(judgement.inspected(id, evidence, at: now, Terms(fairness)))
        case .supervisorReturned:
            return follow(judgement.returned(at: now, Terms(fairness), &numbers))
        }
    }

    /// Extends the allowance like ``ProcessMachine``, which also reports extensions without progress.
    private mutating func extend(by duration: Duration, _ token: String?, at now: Instant) -> [Effect] {
        guard progress.admits(token, fairness) else { return [] }
        switch judgement.extend(by: duration, cap: fairness.extensionCap, at: now) {
        case .gained(let gained):
            allowance += gained
            return [.extended(by: gained)]
        case .capped: return [.extensionCapped]
        case .needless: return []
        }
    }

    private mutating func commandsEnded(at now: Instant) -> [Effect] {
        if hasReloaded { return finish(.done(isConfirmed: true)) }
        guard !isReloading else { return [] }
        guard mayAnnounce else { return finish(.done(isConfirmed: false)) }
        announcementEnd = now + Self.announcementTime
        return []
    }

    private mutating func deadlineReached(at now: Instant) -> [Effect] {
        if let end = announcementEnd, now >= end || now >= judgement.deadline {
            return finish(.done(isConfirmed: false))
        }
        return follow(judgement.due(at: now, Terms(fairness), &numbers))
    }

    private mutating func follow(_ step: Judgement.Step) -> [Effect] {
        switch step {
        case .nothing: return []
        case .overslept(let lateness): return [.overslept(by: lateness)]
        case .inspect(let id): return [.inspect(id: id)]
        case .paused(let pause): return [.paused(pause)]
        case .credited(let credit): return [.credited(credit)]
        // No time was left when it stopped.
        case .resumed where judgement.isDecided: return exhausted()
        case .resumed(let duration, _): return [.resumed(after: duration)]
        case .decided: return exhausted()
        }
    }

    private mutating func exhausted() -> [Effect] {
        guard let index = current, index < commandCount else { return finish(.appTimedOut) }
        return [.cancel] + finish(.commandTimedOut(index))
    }

    private mutating func finish(_ outcome: Outcome) -> [Effect] {
        isOver = true
        return [.finish(outcome)]
    }
}

extension ReloadMachine: Codable {
    private enum CodingKeys: String, CodingKey {
        case begun, allowance, commandCount, fairness, mayAnnounce, deadline, progress, current, isReloading,
            hasReloaded
        case announcementEnd, isOver, judgement, examinations
    }

    /// Reads a saved reload; earlier versions saved only the deadline of its judgement.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        begun = try values.decode(Instant.self, forKey: .begun)
        allowance = try values.decode(Duration.self, forKey: .allowance)
        commandCount = try values.decode(Int.self, forKey: .commandCount)
        fairness = try values.decode(Fairness.self, forKey: .fairness)
        mayAnnounce = try values.decode(Bool.self, forKey: .mayAnnounce)
        progress = try values.decode(Progress.self, forKey: .progress)
        current = try values.decodeIfPresent(Int.self, forKey: .current)
        isReloading = try values.decode(Bool.self, forKey: .isReloading)
        hasReloaded = try values.decode(Bool.self, forKey: .hasReloaded)
        announcementEnd = try values.decodeIfPresent(Instant.self, forKey: .announcementEnd)
        isOver = try values.decode(Bool.self, forKey: .isOver)
        numbers = Numbers(examinations: try values.decodeIfPresent(Int.self, forKey: .examinations) ?? 0)
        if let saved = try values.decodeIfPresent(SavedJudgement.self, forKey: .judgement) {
            judgement = Judgement(saved)
        } else {
            let deadline = try values.decode(Deadline.self, forKey: .deadline)
            judgement = Judgement(
                .sceneUpdate, from: begun, allowance: allowance - deadline.extended, deadline: deadline)
        }
    }

    /// Saves a reload, also for earlier versions, which read the deadline.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(begun, forKey: .begun)
        try values.encode(allowance, forKey: .allowance)
        try values.encode(commandCount, forKey: .commandCount)
        try values.encode(fairness, forKey: .fairness)
        try values.encode(mayAnnounce, forKey: .mayAnnounce)
        try values.encode(judgement.saved.deadline, forKey: .deadline)
        try values.encode(progress, forKey: .progress)
        try values.encodeIfPresent(current, forKey: .current)
        try values.encode(isReloading, forKey: .isReloading)
        try values.encode(hasReloaded, forKey: .hasReloaded)
        try values.encodeIfPresent(announcementEnd, forKey: .announcementEnd)
        try values.encode(isOver, forKey: .isOver)
        try values.encode(judgement.saved, forKey: .judgement)
        try values.encode(numbers.examinations, forKey: .examinations)
    }
}
