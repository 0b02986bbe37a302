// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// One reload of an app: its commands, one after the other, and then the app's own confirmation if it gives one.
///
/// After `RELOADING=1` from the app, the reload waits for `READY=1`. Whether the app will send it is not known in
/// advance: an app that reported readiness at its launch gets a moment for it after the last command.
///
/// Invariants: one command at a time; exactly one ``Effect/finish(_:)``, which is the last effect; no command runs and
/// nothing is waited for beyond the allowance.
///
/// Isolation: a value; its holder serializes the calls.
public struct ReloadMachine: Hashable, Sendable, Codable {
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
    }

    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Run the command at this index; answer with ``Event/commandEnded(isSuccess:)``.
        case run(Int)
        /// Kill the running command, with everything it has started.
        case cancel
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
    private var deadline: Deadline
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
        deadline = Deadline(now + allowance)
    }

    /// The index of the running command; nil if none is running.
    public var running: Int? { current.flatMap { isOver || $0 == commandCount ? nil : $0 } }

    /// When ``Event/deadlineReached`` must be delivered; nil when the reload is over.
    public var nextDeadline: Instant? {
        isOver ? nil : min(deadline.at, announcementEnd ?? deadline.at)
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
        }
    }

    /// Extends the allowance like ``ProcessMachine``, which also reports extensions without progress.
    private mutating func extend(by duration: Duration, _ token: String?, at now: Instant) -> [Effect] {
        guard progress.admits(token, fairness) else { return [] }
        switch deadline.extend(by: duration, cap: fairness.extensionCap, at: now) {
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
        if let end = announcementEnd, now >= end || now >= deadline.at { return finish(.done(isConfirmed: false)) }
        guard now >= deadline.at, let index = current else { return [] }
        guard index < commandCount else { return finish(.appTimedOut) }
        return [.cancel] + finish(.commandTimedOut(index))
    }

    private mutating func finish(_ outcome: Outcome) -> [Effect] {
        isOver = true
        return [.finish(outcome)]
    }
}
