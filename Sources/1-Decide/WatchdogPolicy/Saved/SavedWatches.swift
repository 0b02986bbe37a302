// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

struct SavedWatches: Sendable, Equatable, Codable {
    let duties: SavedDuties
    let probes: SavedProbes?
    let trigger: SavedTrigger?
    let incidents: SavedIncidents
    let stoppedSince: Instant?

    private enum CodingKeys: String, CodingKey { case duties, probes, trigger, incidents, stoppedSince }
}

struct SavedDuties: Sendable, Equatable, Codable {
    let allowance: SavedAllowance?
    let pings: SavedPings
    let pushes: SavedPushes
    let latencies: SavedLatencies
    let progress: String?
    let graceEnd: Instant?
    let isObserving: Bool
    let hasSpoken: Bool

    private enum CodingKeys: String, CodingKey {
        case allowance, pings, pushes, latencies, progress, graceEnd, isObserving, hasSpoken
    }
}

struct SavedAllowance: Sendable, Equatable, Codable {
    enum Purpose: String, Sendable, Codable {
        case launch = "launch"
        case ping = "ping"
        case push = "push"
        case obligation = "obligation"
        case termination = "termination"
        case requestedTermination = "requestedTermination"
    }

    let purpose: Purpose
    let judgement: SavedJudgement

    private enum CodingKeys: String, CodingKey { case purpose, judgement }
}

struct SavedJudgement: Sendable, Equatable, Codable {
    struct Standstill: Sendable, Equatable, Codable {
        let pause: Pause
        let since: Instant
        let remaining: Duration
        let isFound: Bool
        let examination: Int?
        let next: Instant

        private enum CodingKeys: String, CodingKey { case pause, since, remaining, isFound, examination, next }
    }

    enum State: Sendable, Equatable, Codable {
        case counting
        case examining(id: Int, backstop: Instant)
        case paused(Standstill)
        case decided

        private enum CodingKeys: String, CodingKey { case counting, examining, paused, decided }
        private enum ExaminingCodingKeys: String, CodingKey { case id, backstop }
    }

    let event: WatchdogEvent
    let allowance: Duration
    let budget: Duration
    let startedAt: Instant
    let windowStart: Instant
    let deadline: Deadline
    let credit: Duration?
    let paused: Duration
    let rebases: Int
    let isObserved: Bool
    /// Absent if it is not, and in files of versions that did not report it.
    let isSlow: Bool?
    let state: State

    private enum CodingKeys: String, CodingKey {
        case event, allowance, budget, startedAt, windowStart, deadline, credit, paused, rebases, isObserved, isSlow,
            state
    }
}

struct SavedPings: Sendable, Equatable, Codable {
    let nonceState: UInt64
    let unanswered: [UInt64]
    let lastSent: Instant?
    let next: Instant?
    let isAnswered: Bool

    private enum CodingKeys: String, CodingKey { case nonceState, unanswered, lastSent, next, isAnswered }
}

struct SavedPushes: Sendable, Equatable, Codable {
    let interval: Duration?
    let isExpected: Bool

    private enum CodingKeys: String, CodingKey { case interval, isExpected }
}

struct SavedLatencies: Sendable, Equatable, Codable {
    let pings: LatencyHistogram
    let probes: LatencyHistogram
    let hangs: LatencyHistogram
    let strayAnswers: Int

    private enum CodingKeys: String, CodingKey { case pings, probes, hangs, strayAnswers }
}

struct SavedProbes: Sendable, Equatable, Codable {
    enum Step: Sendable, Equatable, Codable {
        case waiting(until: Instant)
        case probing(deadline: Instant)
        case judging

        private enum CodingKeys: String, CodingKey { case waiting, probing, judging }
        private enum WaitingCodingKeys: String, CodingKey { case until }
        private enum ProbingCodingKeys: String, CodingKey { case deadline }
    }

    struct Failures: Sendable, Equatable, Codable {
        let missed: MissedProbes
        let since: Instant
        let judgement: SavedJudgement?

        private enum CodingKeys: String, CodingKey { case missed, since, judgement }
    }

    let step: Step
    let startedAt: Instant
    let windowStart: Instant
    let failures: Failures?
    let paused: Duration
    let rebases: Int
    let isImpossible: Bool

    private enum CodingKeys: String, CodingKey {
        case step, startedAt, windowStart, failures, paused, rebases, isImpossible
    }
}

struct SavedTrigger: Sendable, Equatable, Codable {
    let reason: TriggerWatch.Reason
    let judgement: SavedJudgement

    private enum CodingKeys: String, CodingKey { case reason, judgement }
}

struct SavedIncidents: Sendable, Equatable, Codable {
    struct Capture: Sendable, Equatable, Codable {
        let incident: Incident
        let budgetEnd: Instant
        let isKillRequested: Bool

        private enum CodingKeys: String, CodingKey { case incident, budgetEnd, isKillRequested }
    }

    let closed: [Incident]
    let count: Int
    let killing: Incident?
    let capture: Capture?

    private enum CodingKeys: String, CodingKey { case closed, count, killing, capture }
}
