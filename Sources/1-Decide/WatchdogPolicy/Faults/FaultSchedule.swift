// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// When each fault of a launch begins and ends.
///
/// Pure: the moments of the launch and the time go in, steps come out.
public struct FaultSchedule: Sendable {
    /// What to do with each fault, by index.
    public enum Step: Hashable, Sendable {
        case begin(Int)
        case end(Int)
    }

    private enum State: Hashable {
        case waiting
        case active(since: Instant)
        case over
    }

    /// The faults, in the order of the command line, then those that were added.
    public private(set) var faults: [Fault]
    private var states: [State]
    private var origins: [Fault.Moment.Origin: Instant] = [:]
    /// When faults that were added begin, by their index.
    private var starts: [Int: Instant] = [:]
    private var isOver = false

    /// Creates a schedule; nothing is due before the launch.
    public init(_ faults: [Fault]) {
        self.faults = faults
        states = faults.map { _ in .waiting }
    }

    /// Records when a moment of the launch came; only the first time counts.
    public mutating func reached(_ origin: Fault.Moment.Origin, at instant: Instant) {
        if origins[origin] == nil { origins[origin] = instant }
    }

    /// Adds a fault that begins at once, whatever its moment says.
    public mutating func add(_ fault: Fault, at instant: Instant) {
        starts[faults.count] = instant
        faults.append(fault)
        states.append(.waiting)
    }

    /// The next instant at which a step is due; nil if none is known.
    public var next: Instant? { faults.indices.compactMap { due($0) }.min() }

    /// The steps that are due, in the order in which they were due; each comes once.
    ///
    /// A fault lasts its full time from the step with which it began, however late that came.
    public mutating func steps(at now: Instant) -> [Step] {
        let due = faults.indices.filter { index in self.due(index).map { $0 <= now } ?? false }
            .sorted { (self.due($0) ?? now, $0) < (self.due($1) ?? now, $1) }
        return due.map { index in
            guard case .waiting = states[index] else {
                states[index] = .over
                return .end(index)
            }
            states[index] = .active(since: now)
            return .begin(index)
        }
    }

    /// Ends all faults, because the app has ended; nothing is due afterward.
    public mutating func end() -> [Step] {
        isOver = true
        let active = faults.indices.filter { if case .active = states[$0] { true } else { false } }
        for index in active { states[index] = .over }
        return active.map { .end($0) }
    }

    private func due(_ index: Int) -> Instant? {
        guard !isOver else { return nil }
        switch states[index] {
        case .waiting:
            return starts[index] ?? origins[faults[index].moment.origin].map { $0 + faults[index].moment.delay }
        case .active(let since): return faults[index].duration.map { since + $0 }
        case .over: return nil
        }
    }
}
