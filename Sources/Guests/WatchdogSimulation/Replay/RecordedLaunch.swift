// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// One launch of a trace, indexed for a replay.
struct RecordedLaunch: Sendable {
    /// A recorded incident.
    struct PastIncident: Hashable, Sendable {
        let event: WatchdogEvent
        let allowance: Duration
        /// The time of the decision, since the start of the trace.
        let at: Duration
        /// The start of the allowance.
        let start: Duration
        let isKill: Bool
    }

    /// A time span, since the start of the trace.
    struct Span: Hashable, Sendable {
        let start: Duration
        let end: Duration
        var pause: Pause?
    }

    /// A reading of the app's CPU usage.
    struct Use: Hashable, Sendable {
        let at: Duration
        let cpu: Duration
        let waiting: Duration
    }

    /// The start and the end of the launch.
    let start: Duration
    let end: Duration
    /// All events, in order.
    let events: [TraceEvent]
    /// The events for the machine; the others determine the answers to it.
    let inputs: [TraceEvent]
    private(set) var questions: [TraceEvent.Question: Answers] = [:]
    private(set) var pings = Answers()
    private(set) var probes = Answers()
    private(set) var uses: [Use] = []
    /// The examinations of the main thread, with its wait for a CPU.
    private(set) var examinations: [(at: Duration, waiting: Duration)] = []
    private(set) var pauses: [Span] = []
    /// The periods in which watchdogd itself did not run.
    private(set) var absences: [Span] = []
    private(set) var incidents: [PastIncident] = []
    private(set) var ready: (source: ReadinessSource, at: Duration)?
    private(set) var saysHello = false
    /// Whether the machine must be called at each of its deadlines to judge the launch.
    private(set) var isBusy = false

    /// - Parameter events: the events; not empty.
    init(_ events: [TraceEvent]) {
        self.events = events
        inputs = events.filter(\.isInput)
        start = events.first?.at ?? .zero
        end = events.last?.at ?? .zero
        var pause: (Pause, Duration)?
        var stop: Duration?
        for event in events {
            switch event.kind {
            case .answered(let question, let after):
                questions[question, default: Answers()].add(
                    sent: max(start, event.at - after), latency: min(after, event.at - start))
            case .unanswered(let question, let after):
                questions[question, default: Answers()].add(sent: max(start, event.at - after), latency: nil)
            case .probed(.noAnswer, let after):
                probes.add(sent: max(start, event.at - after), latency: nil)
            case .probed(.ended(let result), let after):
                probes.add(
                    sent: max(start, event.at - after), latency: min(after, event.at - start), result: result)
            case .used(let cpu, let waiting):
                let last = uses.last
                uses.append(
                    Use(at: event.at, cpu: max(cpu, last?.cpu ?? .zero), waiting: max(waiting, last?.waiting ?? .zero)))
            case .examined(let waiting): examinations.append((event.at, waiting))
            case .paused(let found): pause = pause ?? (found, event.at)
            case .resumed:
                if let (found, at) = pause { pauses.append(Span(start: at, end: event.at, pause: found)) }
                pause = nil
            case .stopped: stop = stop ?? event.at
            case .continued:
                if let stop { pauses.append(Span(start: stop, end: event.at, pause: .stopped)) }
                stop = nil
            case .overslept(let lateness):
                // The replay's deadline may be slightly earlier than the recorded one.
                absences.append(Span(start: event.at - lateness - Answers.tolerance, end: event.at))
            // A trace does not contain locks.
            case .incident(.suspension, _, _, _): break
            case .incident(let watched, let allowance, let elapsed, let isKill):
                incidents.append(
                    PastIncident(
                        event: watched, allowance: allowance, at: event.at, start: max(start, event.at - elapsed),
                        isKill: isKill))
            case .ready(let source): ready = ready ?? (source, event.at)
            case .hello: saysHello = true
            case .joined, .requested, .taskBegan: isBusy = true
            default: break
            }
        }
        if let (found, at) = pause { pauses.append(Span(start: at, end: end, pause: found)) }
        if let stop { pauses.append(Span(start: stop, end: end, pause: .stopped)) }
        isBusy = isBusy || !probes.isEmpty
        for question in TraceEvent.Question.allCases { questions[question]?.sort() }
        pings = questions[.ping] ?? Answers()
        probes.sort()
        // The pause was found by an examination, so it had begun before: assume the time of the unanswered question.
        pauses = pauses.map { span in
            let before = pings.latest(until: span.start)?.sent ?? start
            return span.pause == .stopped ? span : Span(start: before, end: span.end, pause: span.pause)
        }
    }

    var isKilled: Bool { incidents.contains(where: \.isKill) }
    var answersPings: Bool { !pings.isEmpty }

    /// The main thread's state and wait for a CPU, as an examination would find them.
    ///
    /// A recorded examination is used unchanged. Between two readings, the wait is interpolated linearly.
    func evidence(from start: Duration, to now: Duration) -> Evidence {
        let pause = pauses.first { $0.start <= now && now < $0.end }?.pause
        let recorded = examinations.first {
            $0.at >= now - Answers.tolerance && $0.at <= now + Answers.tolerance
        }
        let waiting = recorded?.waiting ?? max(.zero, use(at: now).waiting - use(at: min(start, now)).waiting)
        switch pause {
        case .traced(let pid): return Evidence(state: "t", tracer: pid, runDelay: waiting)
        case .stopped: return Evidence(state: "T", runDelay: waiting)
        case .frozen: return Evidence(state: "S", isFrozen: true, runDelay: waiting)
        case .dumpingCore: return Evidence(state: "S", isDumpingCore: true, runDelay: waiting)
        case nil: return Evidence(state: "S", runDelay: waiting)
        }
    }

    func use(at now: Duration) -> (cpu: Duration, waiting: Duration) {
        // Binary search for the first reading after now.
        var (low, high) = (0, uses.count)
        while low < high {
            let middle = (low + high) / 2
            if uses[middle].at > now { high = middle } else { low = middle + 1 }
        }
        guard low > 0 else { return (.zero, .zero) }
        let before = uses[low - 1]
        guard low < uses.count, uses[low].at > before.at else { return (before.cpu, before.waiting) }
        let after = uses[low]
        let share = Double((now - before.at).nanoseconds) / Double((after.at - before.at).nanoseconds)
        func between(_ one: Duration, _ other: Duration) -> Duration {
            one + .nanoseconds(Int64(Double((other - one).nanoseconds) * share))
        }
        return (between(before.cpu, after.cpu), between(before.waiting, after.waiting))
    }

    static func all(in trace: Trace) -> [RecordedLaunch] {
        var launches: [RecordedLaunch] = []
        var events: [TraceEvent] = []
        for event in trace.events {
            if event.beginsLaunch, !events.isEmpty {
                launches.append(RecordedLaunch(events))
                events = []
            }
            events.append(event)
        }
        if !events.isEmpty { launches.append(RecordedLaunch(events)) }
        return launches
    }
}
