// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The states and events that the main loop must answer, and the events waiting to be sent.
struct Obligations: Hashable, Sendable {
    enum Kind: Hashable, Sendable, Codable {
        case state(Visibility, id: UInt64)
        case event(name: String, id: UInt64)

        private enum CodingKeys: String, CodingKey { case state, event }
        private enum StateCodingKeys: String, CodingKey { case _0, id }
        private enum EventCodingKeys: String, CodingKey { case name, id }
    }

    struct Obligation: Hashable, Sendable, Codable {
        let kind: Kind
        let sentAt: Instant
        let allowance: Duration

        private enum CodingKeys: String, CodingKey { case kind, sentAt, allowance }
    }

    enum StateAnswer {
        case unknown
        case outOfOrder
        case needless
        case entered(Visibility, sentAt: Instant, wasFirst: Bool)
    }

    /// The limit of events for the app, sent or waiting.
    private static let limit = 64

    private var open: [Obligation] = []
    private var waiting: [LifecycleRequest] = []
    private var statesAsked: UInt64 = 0
    private var statesDone: UInt64 = 0
    private var eventsSent: UInt64 = 0

    var isEmpty: Bool { open.isEmpty }
    var isIdle: Bool { open.isEmpty && waiting.isEmpty }
    var isFull: Bool { open.count + waiting.count >= Self.limit }
    /// The main loop answers in order, so the allowance of each obligation starts with the answer to the previous one.
    var firstAllowance: Duration? { open.first?.allowance }
    /// States that were requested but not entered.
    var states: [(Visibility, id: UInt64)] {
        open.compactMap { if case .state(let visibility, let id) = $0.kind { (visibility, id) } else { nil } }
    }
    var isMoving: Bool { open.contains { if case .state = $0.kind { true } else { false } } }

    mutating func wait(_ event: LifecycleRequest) { waiting.append(event) }

    mutating func takeWaiting() -> [LifecycleRequest] {
        defer { waiting = [] }
        return waiting
    }

    /// Returns the number of the state.
    mutating func ask(_ visibility: Visibility, within allowance: Duration, at now: Instant) -> UInt64 {
        statesAsked += 1
        open.append(Obligation(kind: .state(visibility, id: statesAsked), sentAt: now, allowance: allowance))
        return statesAsked
    }

    /// Returns the number of the event.
    mutating func send(_ name: String, within allowance: Duration, at now: Instant) -> UInt64 {
        eventsSent += 1
        open.append(Obligation(kind: .event(name: name, id: eventsSent), sentAt: now, allowance: allowance))
        return eventsSent
    }

    mutating func stateDone(_ id: UInt64) -> StateAnswer {
        guard id > 0, id <= statesAsked else { return .unknown }
        guard id > statesDone else { return id < statesDone ? .outOfOrder : .needless }
        statesDone = id
        for (index, obligation) in open.enumerated() {
            guard case .state(let visibility, let asked) = obligation.kind, asked <= id else { continue }
            open.remove(at: index)
            return .entered(visibility, sentAt: obligation.sentAt, wasFirst: index == 0)
        }
        return .needless
    }

    /// The events handled with this one, and whether the first obligation was among them; nil if there are none.
    mutating func eventDone(_ id: UInt64) -> (events: [(name: String, id: UInt64, sentAt: Instant)], wasFirst: Bool)? {
        guard id <= eventsSent else { return nil }
        var events: [(name: String, id: UInt64, sentAt: Instant)] = []
        var wasFirst = false
        while let index = open.firstIndex(where: { if case .event(_, let sent) = $0.kind { sent <= id } else { false } }
        ) {
            let answered = open.remove(at: index)
            wasFirst = wasFirst || index == 0
            if case .event(let name, let id) = answered.kind { events.append((name, id, answered.sentAt)) }
        }
        return events.isEmpty ? nil : (events, wasFirst)
    }

    /// Drops obligations that nobody will answer.
    mutating func drop() { open = [] }

    mutating func end() {
        open = []
        waiting = []
    }
}

extension Obligations {
    init(_ saved: SavedObligations) {
        open = saved.open
        waiting = saved.waiting
        statesAsked = saved.statesAsked
        statesDone = saved.statesDone
        eventsSent = saved.eventsSent
    }

    var saved: SavedObligations {
        SavedObligations(
            open: open, waiting: waiting, statesAsked: statesAsked, statesDone: statesDone, eventsSent: eventsSent)
    }
}
