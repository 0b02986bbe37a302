// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Whether an app is frozen, and which locks it holds.
struct Freezer: Hashable, Sendable {
    enum State: Hashable, Sendable, Codable {
        case thawed
        case asked(since: Instant, backstop: Instant)
        /// `hasReport` is false while the answer to the request is missing.
        case frozen(since: Instant, hasReport: Bool)

        private enum CodingKeys: String, CodingKey { case thawed, asked, frozen }
        private enum AskedCodingKeys: String, CodingKey { case since, backstop }
        private enum FrozenCodingKeys: String, CodingKey { case since, hasReport }
    }

    /// How long a freeze may take before it counts as complete: a process that waits for a device cannot be frozen.
    private static let budget: Duration = .seconds(1)

    private(set) var state = State.thawed
    /// Locked files that are yet to be judged.
    private var locks: [LockedFile] = []
    /// When the latest request that may resume the app came.
    private var requestedAt: Instant?
    /// When the resume that is not answered yet began.
    private var resumeStart: Instant?

    var isSuspending: Bool { state != .thawed }
    var isFrozen: Bool { if case .frozen = state { true } else { false } }
    /// When a request counts as complete.
    var backstop: Instant? { if case .asked(_, let backstop) = state { backstop } else { nil } }

    mutating func freeze(_ turn: inout Turn) {
        state = .asked(since: turn.now, backstop: turn.now + Self.budget)
        turn.isSuspended = true
        turn.perform(.freeze)
    }

    /// Records that the app is frozen, as far as is known; returns when that was requested.
    ///
    /// - Parameter found: the locked files; nil if the answer did not come in time.
    mutating func froze(_ found: [LockedFile]?, at now: Instant) -> Instant? {
        guard case .asked(let since, _) = state else { return nil }
        locks = found ?? []
        state = .frozen(since: now, hasReport: found != nil)
        return since
    }

    /// Records locks that are reported after the backstop; returns whether a report was missing.
    mutating func reported(_ found: [LockedFile]) -> Bool {
        guard case .frozen(let since, hasReport: false) = state else { return false }
        locks = found
        state = .frozen(since: since, hasReport: true)
        return true
    }

    mutating func takeLocks() -> [LockedFile] {
        defer { locks = [] }
        return locks
    }

    mutating func requested(at now: Instant) { requestedAt = now }

    /// Thaws the app; returns when it was frozen.
    mutating func thaw(_ turn: inout Turn) -> Instant? {
        guard case .frozen(let since, _) = state else { return nil }
        state = .thawed
        locks = []
        resumeStart = requestedAt ?? turn.now
        turn.isSuspended = false
        return since
    }

    /// Records the app's answer; returns how long a resume has been waiting for it.
    mutating func resumeAnswered(at now: Instant) -> Duration? {
        defer { resumeStart = nil }
        return resumeStart.map { now - $0 }
    }

    var isAnswerAwaited: Bool { resumeStart != nil }

    mutating func forgetResume() { resumeStart = nil }

    /// Repeats the freeze, which the previous supervisor may not have executed; returns false if the app is not to be
    /// frozen.
    mutating func returned(_ turn: inout Turn) -> Bool {
        if case .asked(let since, _) = state { state = .asked(since: since, backstop: turn.now + Self.budget) }
        if isSuspending { turn.perform(.freeze) }
        return isSuspending
    }

    mutating func end() {
        state = .thawed
        locks = []
        resumeStart = nil
    }
}

extension Freezer {
    init(_ saved: SavedFreezer) {
        state = saved.state
        locks = saved.locks
        requestedAt = saved.requestedAt
        resumeStart = saved.resumeStart
    }

    var saved: SavedFreezer {
        SavedFreezer(state: state, locks: locks, requestedAt: requestedAt, resumeStart: resumeStart)
    }
}
