// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

struct SavedLifecycle: Sendable, Equatable, Codable {
    let visibility: Visibility
    let goal: Lifecycle.Goal
    let obligations: SavedObligations
    let background: SavedBackground
    let freezer: SavedFreezer
    let past: LifecycleRecord

    private enum CodingKeys: String, CodingKey { case visibility, goal, obligations, background, freezer, past }
}

struct SavedObligations: Sendable, Equatable, Codable {
    let open: [Obligations.Obligation]
    let waiting: [LifecycleRequest]
    let statesAsked: UInt64
    let statesDone: UInt64
    let eventsSent: UInt64

    private enum CodingKeys: String, CodingKey { case open, waiting, statesAsked, statesDone, eventsSent }
}

struct SavedBackground: Sendable, Equatable, Codable {
    let tasks: SavedTasks
    let stay: SavedStay?
    let cpu: SavedCPUWatch?

    private enum CodingKeys: String, CodingKey { case tasks, stay, cpu }
}

struct SavedTasks: Sendable, Equatable, Codable {
    let open: [BackgroundTask]
    let count: Int
    let warning: Instant?
    /// Sorted, so that equal tasks give equal bytes.
    let warned: [UInt64]
    let floodedAt: Instant?
    let isFloodDecided: Bool

    private enum CodingKeys: String, CodingKey { case open, count, warning, warned, floodedAt, isFloodDecided }
}

struct SavedStay: Sendable, Equatable, Codable {
    enum Phase: String, Sendable, Codable {
        case open = "open"
        case expiring = "expiring"
        case over = "over"
    }

    let phase: Phase
    let judgement: SavedJudgement
    let idleSince: Instant
    let start: ResourceUse?
    let latest: ResourceUse?

    private enum CodingKeys: String, CodingKey { case phase, judgement, idleSince, start, latest }
}

struct SavedCPUWatch: Sendable, Equatable, Codable {
    let isForLaunch: Bool
    let limit: Duration
    let start: Duration?
    let next: Instant

    private enum CodingKeys: String, CodingKey { case isForLaunch, limit, start, next }
}

struct SavedFreezer: Sendable, Equatable, Codable {
    let state: Freezer.State
    let locks: [LockedFile]
    let requestedAt: Instant?
    let resumeStart: Instant?

    private enum CodingKeys: String, CodingKey { case state, locks, requestedAt, resumeStart }
}
