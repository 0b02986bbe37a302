// SPDX-License-Identifier: Apache-2.0

/// One reload of an app: its commands, one after the other, and then the app's own word if it gives one.
///
/// An app that says `RELOADING=1` is waited for until it says `READY=1`. Whether it is going to say so is not known before:
/// one that has told of its launch that way has a moment for it after the last command.
///
/// What holds always: one command at a time; exactly one ``Effect/finish(_:)``, which is the last effect; nothing of it
/// runs, and nobody is waited for, beyond the allowance.
///
/// Isolation: a value; whoever holds it serialises the calls.
public struct ReloadMachine: Hashable, Sendable, Codable {
    /// What happened.
    public enum Event: Hashable, Sendable {
        /// Somebody wants it; the first event.
        case begun
        /// The command that was run last has ended.
        case commandEnded(isSuccess: Bool)
        /// `RELOADING=1`.
        case announced
        /// `READY=1`.
        case ready
        /// `EXTEND_TIMEOUT_USEC=…`; the token must change from one request to the next to count as progress.
        case extensionRequested(by: Duration, progress: String?)
        /// ``ReloadMachine/nextDeadline`` has come.
        case deadlineReached
    }

    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Run the command of this index; answer with ``Event/commandEnded(isSuccess:)``.
        case run(Int)
        /// Kill the command that runs, with all that it has started.
        case cancel
        /// Tell that the app extended the allowance.
        case extended(by: Duration)
        /// Tell that the cap on extensions is used up.
        case extensionCapped
        /// It is over.
        case finish(Outcome)
    }

    /// How it ended.
    public enum Outcome: Hashable, Sendable {
        /// All commands succeeded; `isConfirmed` if the app itself said that it has reloaded.
        case done(isConfirmed: Bool)
        /// The command of this index failed.
        case commandFailed(Int)
        /// The command of this index did not end in time.
        case commandTimedOut(Int)
        /// The app said that it reloads, and did not say in time that it is ready.
        case appTimedOut
    }

    /// From the end of the last command until an app that may announce a reload must have done so.
    public static let announcementTime: Duration = .milliseconds(250)

    /// When it began.
    public let begun: Instant
    /// How long all of it may take, extensions included.
    public private(set) var allowance: Duration

    private let commandCount: Int
    private let fairness: Fairness
    private let mayAnnounce: Bool
    private var deadline: Instant
    private var extended = Duration.zero
    private var lastProgress: String?
    private var current: Int?
    private var isReloading = false
    private var hasReloaded = false
    private var announcementEnd: Instant?
    private var isOver = false

    /// Creates a reload that begins now.
    ///
    /// - Parameters:
    ///   - commandCount: how many commands there are, at least one.
    ///   - allowance: how long all of it may take.
    ///   - fairness: how far the app can extend that.
    ///   - lastProgress: the latest token of progress before it.
    ///   - mayAnnounce: whether the app has said `READY=1` on its launch.
    ///   - now: when it begins.
    public init(
        commandCount: Int, allowance: Duration, fairness: Fairness, lastProgress: String?, mayAnnounce: Bool,
        at now: Instant
    ) {
        precondition(commandCount > 0 && allowance > .zero, "a reload needs a command and time for it")
        self.commandCount = commandCount
        self.allowance = allowance
        self.fairness = fairness
        self.lastProgress = lastProgress
        self.mayAnnounce = mayAnnounce
        begun = now
        deadline = now + allowance
    }

    /// The command that runs; nil when none does.
    public var running: Int? { current.flatMap { isOver || $0 == commandCount ? nil : $0 } }

    /// When ``Event/deadlineReached`` has to be delivered; nil when it is over.
    public var nextDeadline: Instant? {
        isOver ? nil : min(deadline, announcementEnd ?? deadline)
    }

    /// Tells the machine what happened; returns what to do, in order.
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

    /// As ``AppMachine`` extends an allowance; one without progress is refused there.
    private mutating func extend(by duration: Duration, _ progress: String?, at now: Instant) -> [Effect] {
        let hasProgressed = progress != nil && progress != lastProgress
        if hasProgressed { lastProgress = progress }
        guard hasProgressed || fairness.allowsBlindExtension else { return [] }
        switch Countdown.extended(by: duration, having: deadline - now, after: extended, cap: fairness.extensionCap) {
        case .gained(let gained):
            extended += gained
            allowance += gained
            deadline = deadline + gained
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
        if let end = announcementEnd, now >= end || now >= deadline { return finish(.done(isConfirmed: false)) }
        guard now >= deadline, let index = current else { return [] }
        guard index < commandCount else { return finish(.appTimedOut) }
        return [.cancel] + finish(.commandTimedOut(index))
    }

    private mutating func finish(_ outcome: Outcome) -> [Effect] {
        isOver = true
        return [.finish(outcome)]
    }
}
