// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogPolicy

/// Builds a trace from other files, which have wall-clock times, lack quickly answered pings, and sometimes lack the
/// start of a launch.
public struct TraceBuilder: Sendable {
    private struct Entry {
        let time: Int64
        let order: Int
        let kind: TraceEvent.Kind
    }

    /// The maximum number of notes: each new one is compared with all others, which is quadratic.
    private static let noteLimit = 100

    private var entries: [Entry] = []
    private var trace: Trace
    /// The end of the latest process, and the start of the latest allowance, in the order of additions.
    private var lastExit: Int64?
    private var waited: Duration = .zero

    /// Creates an empty builder.
    public init(file: String, _ source: Trace.Source, app: String) {
        trace = Trace(file: file, source, app: app, hasAllAnswers: false)
    }

    /// Whether nothing was added.
    public var isEmpty: Bool { entries.isEmpty && trace.unjudged.isEmpty }

    /// Adds an event, in any order.
    ///
    /// - Parameter time: microseconds since 1970.
    public mutating func add(_ kind: TraceEvent.Kind, at time: Int64) {
        guard Self.isTime(time) else { return }
        entries.append(Entry(time: time, order: entries.count, kind: kind))
        if case .exited = kind { lastExit = time }
    }

    /// Adds the app's silence that an exhausted allowance implies.
    ///
    /// - Parameters:
    ///   - isLate: whether the source records it only when its report is written, which is after the kill.
    public mutating func add(
        incident event: WatchdogEvent, allowance: Duration, elapsed: Duration? = nil, isKill: Bool, at time: Int64,
        isLate: Bool = false
    ) {
        let elapsed = elapsed ?? allowance
        let end = isLate && isKill ? lastExit.map { min($0, time) } ?? time : time
        // Insert it before the end of the process, which was its consequence.
        if event == .sceneUpdate, isKill { insert(.unanswered(.ping, after: elapsed), at: end) }
        insert(.incident(event, allowance: allowance, elapsed: elapsed, isKill: isKill), at: end)
    }

    /// Whether differences of such times are representable.
    private static func isTime(_ time: Int64) -> Bool { time > 0 && time < .max / 2 }

    private mutating func insert(_ kind: TraceEvent.Kind, at time: Int64) {
        guard Self.isTime(time) else { return }
        entries.append(Entry(time: time, order: -1, kind: kind))
    }

    /// Adds a wait for a CPU that ended at this time.
    public mutating func add(waitFor duration: Duration, at time: Int64) {
        guard Self.isTime(time) else { return }
        add(.used(cpu: .zero, waiting: waited), at: time - duration.wholeMicroseconds)
        waited = min(waited + duration, TraceEvent.longest)
        add(.used(cpu: .zero, waiting: waited), at: time)
    }

    /// Counts an incident for which the source has too little data.
    public mutating func add(_ incident: UnjudgedIncident) { trace.unjudged[incident, default: 0] += 1 }

    /// Adds a note about an omission.
    public mutating func note(_ sentence: String) {
        if trace.notes.count < Self.noteLimit, !trace.notes.contains(sentence) { trace.notes.append(sentence) }
    }

    /// Creates the trace.
    public func finish() throws(TraceError) -> Trace {
        var trace = trace
        let sorted = entries.enumerated().sorted {
            ($0.element.time, $0.element.order < 0 ? -1 : 0, $0.offset)
                < ($1.element.time, $1.element.order < 0 ? -1 : 0, $1.offset)
        }.map(\.element)
        guard let first = sorted.first, let last = sorted.last else { return trace }
        guard last.time - first.time <= TraceEvent.longest.wholeMicroseconds else {
            throw TraceError("covers more than 400 days; use a shorter part", in: trace.file)
        }
        trace.startUSec = first.time
        trace.events = Self.begun(sorted.map { TraceEvent(at: .microseconds($0.time - first.time), $0.kind) })
        return trace
    }

    /// Inserts missing launch events, and a hello for each pinged launch.
    private static func begun(_ events: [TraceEvent]) -> [TraceEvent] {
        var result: [TraceEvent] = []
        var start: Int?
        var isOver = true
        for event in events {
            if event.beginsLaunch {
                start = result.count
                isOver = false
            } else if isOver {
                // An incident after the end belongs to the ended process.
                if case .incident = event.kind, start != nil { continue }
                start = result.count
                isOver = false
                result.append(TraceEvent(at: event.at, .adopted))
            }
            if let begun = start, event.isPing {
                result.insert(TraceEvent(at: result[begun].at, .hello), at: begun + 1)
                start = nil
            }
            result.append(event)
            if case .exited = event.kind { isOver = true }
        }
        return result
    }
}

extension TraceEvent {
    fileprivate var isPing: Bool {
        switch kind {
        case .answered(.ping, _), .unanswered(.ping, _): true
        default: false
        }
    }
}
