// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogPolicy

/// The effect of an app's allowances on a recorded history.
public struct Simulation: Sendable {
    /// The factors by which each allowance is varied.
    public static let factors = [0.5, 1, 1.5, 2, 3]

    /// An exhausted allowance, in the history, in the simulation, or in both.
    public struct ComparedIncident: Hashable, Sendable {
        /// The origin of a compared incident.
        public enum Kind: String, Hashable, Sendable {
            /// It happened, and the simulation repeats it.
            case both
            /// It did not happen, but occurs in the simulation.
            case simulated
            /// It happened, but does not occur in the simulation, as far as the history reaches.
            case past
        }

        /// The origin.
        public let kind: Kind
        /// The trace's file.
        public let file: String
        /// The recorded or simulated time of the decision, since the start of the trace.
        public let at: Duration
        /// Microseconds since 1970; nil if the trace has no start time.
        public let timeUSec: Int64?
        /// The watched event.
        public let event: WatchdogEvent
        /// The allowance: the simulated one, or the recorded one if it does not occur in the simulation.
        public let allowance: Duration
        /// Whether failed liveness probes caused it.
        public let isProbe: Bool
        /// The time that the app actually took; nil if it never finished, or for probes.
        public let duration: Duration?
    }

    /// One allowance, the app's times, and the effect of other lengths.
    public struct Row: Sendable {
        /// The allowance.
        public let allowance: SimulatedAllowance
        /// Its length in the app's file.
        public let value: Duration
        /// The times that the app took.
        public let times: TakenTimes
        /// The suggested length; nil if the times are too few or insufficient.
        public let suggestion: Duration?
        /// The numbers of incidents for each of ``Simulation/factors``.
        public let counts: [Count]
        /// The number of incidents with the suggestion.
        public let suggestedCount: Count?
    }

    /// A number of incidents.
    public struct Count: Hashable, Sendable {
        /// The number of certain incidents.
        public internal(set) var certain = 0
        /// The number of possible further incidents: the app was killed before this allowance was exhausted.
        public internal(set) var possible = 0
    }

    /// The history takes too long to replay.
    public struct LimitError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The error: one sentence without a period.
        public let description: String
    }

    /// The app's name.
    public let app: String
    /// Whether an exhausted allowance kills the app.
    public let isEnforced: Bool
    /// The traces.
    public let traces: [Trace]
    /// The number of launches in the traces.
    public let launches: Int
    /// The time that the traces cover.
    public let span: Duration
    /// The allowances that the traces can judge.
    public private(set) var rows: [Row] = []
    /// The recorded and the simulated incidents, in order of trace and time.
    public private(set) var incidents: [ComparedIncident] = []
    /// The number of allowances that starvation would have extended.
    public private(set) var credits = 0
    /// Incidents in the history that cannot be judged, as sentences without a period.
    public private(set) var unjudged: [String] = []
    /// The number of such incidents.
    public private(set) var unjudgedCount = 0
    /// Facts that the traces lack, as sentences without a period.
    public private(set) var notes: [String] = []

    private typealias Played = (launch: RecordedLaunch, trace: Trace, incidents: [Incident])

    /// Replays traces to the policy.
    ///
    /// - Parameters:
    ///   - spec: the allowances.
    ///   - margin: the factor between the percentile and a suggestion.
    /// - Throws: ``LimitError`` if a launch takes more than 50 million steps.
    public init(_ traces: [Trace], under spec: AppSpec, margin: Double) throws(LimitError) {
        app = spec.name
        isEnforced = spec.enforcement == .kill
        self.traces = traces
        let launches = traces.flatMap { trace in RecordedLaunch.all(in: trace).map { ($0, trace) } }
        self.launches = launches.count
        span = launches.reduce(.zero) { $0 + ($1.0.end - $1.0.start) }
        let played = try launches.map { launch, trace throws(LimitError) -> Played in
            let result = try Self.play(launch, spec, in: trace)
            credits += result.credits
            return (launch, trace, result.incidents)
        }
        incidents = played.flatMap { Self.incidents(of: $0) }
        let recorded = launches.map(\.0)
        for allowance in SimulatedAllowance.allCases where allowance.applies(to: spec) {
            guard Self.judges(allowance, recorded) else { continue }
            rows.append(try Self.row(allowance, launches, spec, played.map(\.incidents), margin))
        }
        notes = Self.notes(rows, traces, recorded, spec)
        let left = traces.reduce(into: [:]) { $0.merge($1.unjudged, uniquingKeysWith: +) }
        unjudgedCount = left.values.reduce(0, +)
        unjudged = UnjudgedIncident.Kind.allCases.flatMap { kind in
            [true, false].compactMap { isKill in
                let incident = UnjudgedIncident(kind, isKill: isKill)
                return left[incident].map { incident.sentence($0, hasProbe: spec.livenessProbe != nil) }
            }
        }
    }

    // MARK: - Playing

    private static func play(
        _ launch: RecordedLaunch, _ spec: AppSpec, in trace: Trace
    ) throws(LimitError) -> LaunchReplay.Result {
        guard let result = LaunchReplay.result(of: launch, under: spec) else {
            throw LimitError(
                description:
                    "\(trace.file) has a launch that takes more than 50 million steps; use a longer Ping= or"
                    + " ProbeInterval=, or a shorter trace")
        }
        return result
    }

    private static func row(
        _ allowance: SimulatedAllowance, _ launches: [(RecordedLaunch, Trace)], _ spec: AppSpec, _ now: [[Incident]],
        _ margin: Double
    ) throws(LimitError) -> Row {
        var times = TakenTimes()
        for (launch, _) in launches { times.add(allowance.times(in: launch)) }
        times.sort()
        let value = allowance.value(in: spec)
        func count(_ length: Duration) throws(LimitError) -> Count {
            var spec = spec
            allowance.set(length, in: &spec)
            var count = Count()
            for (index, (launch, trace)) in launches.enumerated() {
                let incidents = length == value ? now[index] : try play(launch, spec, in: trace).incidents
                count.certain += incidents.count(where: allowance.decides)
                count.possible += launch.incidents.count { past in
                    past.isKill && allowance.mayDecide(past.event)
                        && !incidents.contains { isSame($0, past) }
                }
            }
            return count
        }
        var counts: [Count] = []
        for factor in factors { counts.append(try count(factor == 1 ? value : value * factor)) }
        // A percentile of all answers cannot be computed from the slow ones alone.
        let isWhole = allowance != .update || launches.allSatisfy { $0.1.hasAllAnswers }
        let suggestion = isWhole ? times.suggestion(margin: margin) : nil
        var suggestedCount: Count?
        if let suggestion { suggestedCount = try count(suggestion) }
        return Row(
            allowance: allowance, value: value, times: times, suggestion: suggestion, counts: counts,
            suggestedCount: suggestedCount)
    }

    // MARK: - Comparing with the history

    private static func incidents(of played: Played) -> [ComparedIncident] {
        var past = played.launch.incidents
        var incidents: [ComparedIncident] = []
        for incident in played.incidents {
            let start = incident.startedAt - LaunchReplay.origin
            let index = past.firstIndex { isSame(incident, $0) }
            if let index { past.remove(at: index) }
            let isProbe = if case .probesFailed = incident.cause { true } else { false }
            incidents.append(
                compared(
                    index == nil ? .simulated : .both, played,
                    at: incident.decidedAt - LaunchReplay.origin, incident.event, incident.allowance,
                    isProbe: isProbe, since: start))
        }
        incidents += past.map {
            compared(.past, played, at: $0.at, $0.event, $0.allowance, isProbe: false, since: $0.start)
        }
        return incidents.sorted { $0.at < $1.at }
    }

    /// Whether both incidents are the same silence; a launch has only one.
    private static func isSame(_ incident: Incident, _ past: RecordedLaunch.PastIncident) -> Bool {
        let launching: Set<WatchdogEvent> = [.processLaunch, .sceneCreate]
        if launching.contains(incident.event) { return launching.contains(past.event) }
        // Times from a wall clock and from the monotonic clock may differ by a fraction of a second.
        let difference = incident.startedAt - LaunchReplay.origin - past.start
        return incident.event == past.event && difference <= .seconds(1) && difference >= .seconds(-1)
    }

    private static func compared(
        _ kind: ComparedIncident.Kind, _ played: Played, at: Duration, _ event: WatchdogEvent, _ allowance: Duration,
        isProbe: Bool, since start: Duration
    ) -> ComparedIncident {
        let launch = played.launch
        var end: Duration?
        switch event {
        case .processLaunch, .sceneCreate: end = launch.ready?.at
        case .processExit:
            let isKilled = launch.incidents.contains { $0.event == .processExit && $0.isKill }
            end = isKilled ? nil : launch.end
        case .sceneUpdate:
            end =
                launch.questions.values.compactMap { $0.latest(until: start + Answers.tolerance) }
                .max { $0.sent < $1.sent }?.end
        case .backgroundTask, .suspension: break
        }
        let isLaunch = event == .processLaunch || event == .sceneCreate
        return ComparedIncident(
            kind: kind, file: played.trace.file, at: at,
            timeUSec: played.trace.startUSec.map { $0 + at.wholeMicroseconds }, event: event, allowance: allowance,
            isProbe: isProbe,
            duration: isProbe
                ? nil : end.map { $0 - (isLaunch ? launch.start : start) }.flatMap { $0 > .zero ? $0 : nil })
    }

    // MARK: - What is not judged

    private static func judges(_ allowance: SimulatedAllowance, _ launches: [RecordedLaunch]) -> Bool {
        launches.contains { launch in
            if allowance == .background {
                return launch.events.contains { if case .taskBegan = $0.kind { true } else { false } }
            }
            return allowance.times(in: launch).count > 0
                || launch.incidents.contains { allowance.mayDecide($0.event) }
        }
    }

    private static func notes(
        _ rows: [Row], _ traces: [Trace], _ launches: [RecordedLaunch], _ spec: AppSpec
    ) -> [String] {
        var notes = traces.flatMap(\.notes)
        for trace in traces where trace.app != spec.name {
            notes.append("\(trace.file) is a history of \(trace.app), but the app file is for \(spec.name)")
        }
        let judged = Set(rows.map(\.allowance))
        for allowance in SimulatedAllowance.allCases
        where allowance.applies(to: spec) && !judged.contains(allowance) {
            guard let lack = allowance.lack else { continue }
            notes.append("no \(lack) in the history: \(allowance.rawValue)= is not judged")
        }
        if traces.contains(where: { !$0.hasAllAnswers }), judged.contains(.update) {
            notes.append("the history has only slow answers, not those under 250 ms: no suggestion for Update=")
        }
        let overridden = launches.count { ReplayReadiness(spec, $0).isOverridden }
        if overridden > 0 {
            notes.append(
                "\(overridden) of \(launches.count) launches became ready in another way than Readiness= says:"
                    + " their recorded way counts")
        }
        return notes
    }
}

extension SimulatedAllowance {
    fileprivate func mayDecide(_ event: WatchdogEvent) -> Bool {
        switch self {
        case .launch, .backgroundLaunch: event == .processLaunch || event == .sceneCreate
        case .update: event == .sceneUpdate
        case .terminate: event == .processExit
        case .background: event == .backgroundTask
        case .probeTimeout, .enterBackground: false
        }
    }

    /// The data that the history lacks; nil for an allowance that most apps do not use.
    fileprivate var lack: String? {
        switch self {
        case .launch, .backgroundLaunch: "launch that became ready"
        case .update: "ping and no WATCHDOG=1"
        case .probeTimeout: "liveness probe"
        case .terminate: "request to exit"
        case .enterBackground, .background: nil
        }
    }
}
