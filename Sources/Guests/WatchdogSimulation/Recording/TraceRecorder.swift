// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// Converts the events of one launch's machine to the lines of a trace.
///
/// Pure: the events, their effects and the time go in, lines come out.
public struct TraceRecorder: Sendable {
    private struct Request {
        let id: UInt64
        let question: TraceEvent.Question
        let sent: Instant
    }

    /// The minimum change of the usage that is recorded.
    private static let leastUse = Duration.milliseconds(1)

    private let base: Instant
    private var last = Duration.zero
    private var pings: [(nonce: UInt64, sent: Instant)] = []
    private var requests: [Request] = []
    private var probe: (id: Int, sent: Instant)?
    private var hasNotified = false
    private var latest: ResourceUse?

    /// The first line of the trace.
    public let header: String

    /// Starts a trace.
    ///
    /// - Parameters:
    ///   - app: the app's name.
    ///   - now: an instant before the launch.
    ///   - time: microseconds since 1970 at that instant.
    public init(app: String, at now: Instant, timeUSec time: Int64) {
        // Round down to a whole second, so that the pings of a replay are at the same common instants as the recorded
        // ones.
        base = Instant(nanoseconds: now.nanoseconds - now.nanoseconds % 1_000_000_000)
        header =
            "{\"watchdogdTrace\":\(Trace.version),\"app\":\(app.jsonString),"
            + "\"timeUSec\":\(max(0, time - (now - base).wholeMicroseconds))}"
    }

    /// Records an event and its effects; returns lines without newlines.
    public mutating func step(_ event: ProcessEvent, at now: Instant, effects: [ProcessEffect]) -> [String] {
        var kinds = kinds(of: event, at: now)
        for effect in effects { kinds += self.kinds(of: effect, for: event, at: now) }
        return lines(kinds, at: now)
    }

    /// Records the app's usage since its launch; returns no line if it has hardly changed.
    public mutating func used(_ use: ResourceUse, at now: Instant) -> [String] {
        if let latest, use.cpuTime - latest.cpuTime < Self.leastUse, use.runDelay - latest.runDelay < Self.leastUse {
            return []
        }
        latest = use
        return lines([.used(cpu: use.cpuTime, waiting: use.runDelay)], at: now)
    }

    private mutating func lines(_ kinds: [TraceEvent.Kind], at now: Instant) -> [String] {
        // A message that was read late may have an earlier time than the previous event, so keep the times ascending.
        last = max(last, now - base)
        return kinds.map { TraceEvent(at: last, $0).line }
    }

    private mutating func kinds(of event: ProcessEvent, at now: Instant) -> [TraceEvent.Kind] {
        switch event {
        case .spawned: return [.launched]
        case .adopted: return [.adopted]
        case .hello: return [.hello]
        case .notified:
            defer { hasNotified = true }
            return hasNotified ? [] : [.notified]
        case .ponged(let nonce): return answered(nonce, at: now)
        case .watchdogPinged: return [.pushed]
        case .watchdogTriggered: return [.triggered]
        case .watchdogIntervalChanged(let interval): return [.pushIntervalChanged(max(.zero, interval))]
        case .extensionRequested(let span, let progress):
            return [.extensionRequested(by: min(span, TraceEvent.longest), progress: progress)]
        case .stopping: return [.terminating(isRequested: false)]
        case .terminateRequested: return [.terminating(isRequested: true)]
        case .stopped: return [.stopped]
        case .continued: return [.continued]
        case .machineResumed(let suspension): return [.machineResumed(suspension)]
        case .livenessProbed(let id, let result):
            guard let begun = probe, begun.id == id else { return [] }
            probe = nil
            return [.probed(.ended(result), after: now - begun.sent)]
        case .inspected(_, let evidence): return [.examined(waiting: evidence.runDelay)]
        case .exited(let status): return unanswered(at: now) + [.exited(status)]
        case .lifecycle(let event): return kinds(of: event, at: now)
        case .launchRequested, .spawnFailed, .ready, .probed, .deadlineReached, .captured, .treeEmptied,
            .supervisorReturned, .channelLost:
            return []
        }
    }

    private mutating func kinds(of event: LifecycleEvent, at now: Instant) -> [TraceEvent.Kind] {
        switch event {
        case .joined: return [.joined]
        // The payload is omitted, because it may be private.
        case .requested(.event(let kind, _, _)): return [.requested(.event(kind: kind, payload: ""))]
        case .requested(let request): return [.requested(request)]
        case .taskBegan(let id, let name): return [.taskBegan(id: id, name: name)]
        case .taskEnded(let id): return [.taskEnded(id: id)]
        case .stateDone(let id): return answered(now) { $0.question != .event && $0.id <= id }
        case .eventDone(let id), .eventLost(let id): return answered(now) { $0.question == .event && $0.id <= id }
        case .froze, .measured: return []
        }
    }

    private mutating func kinds(
        of effect: ProcessEffect, for event: ProcessEvent, at now: Instant
    ) -> [TraceEvent.Kind] {
        switch effect {
        case .sendPing(let nonce): pings.append((nonce, now))
        case .probeLiveness(let id): probe = (id, now)
        case .lifecycle(.enter(let visibility, let id, _)):
            requests.append(
                Request(id: id, question: visibility == .foreground ? .foreground : .background, sent: now))
        case .lifecycle(.deliver(_, _, _, let id)): requests.append(Request(id: id, question: .event, sent: now))
        case .capture(let incident):
            return [
                .incident(
                    incident.event, allowance: incident.allowance, elapsed: now - incident.startedAt,
                    isKill: incident.isEnforced)
            ]
        case .announce(.ready(let source, _)): return [.ready(source)]
        case .announce(.overslept(let lateness, _)), .announce(.probe(.overslept(let lateness))):
            return [.overslept(lateness)]
        case .announce(.paused(let pause)):
            // The stop itself was recorded as an event.
            return event == .stopped ? [] : [.paused(pause)]
        case .announce(.resumed): return event == .continued ? [] : [.resumed]
        case .announce(.probe(.failed(let missed))) where missed.last == .noAnswer:
            probe = nil
            return [.probed(.noAnswer, after: missed.lastDuration)]
        default: break
        }
        return []
    }

    private mutating func answered(_ nonce: UInt64, at now: Instant) -> [TraceEvent.Kind] {
        guard let index = pings.firstIndex(where: { $0.nonce == nonce }) else { return [] }
        let sent = pings[index].sent
        pings.removeSubrange(...index)
        return [.answered(.ping, after: now - sent)]
    }

    private mutating func answered(_ now: Instant, _ isMeant: (Request) -> Bool) -> [TraceEvent.Kind] {
        let done = requests.filter(isMeant)
        requests.removeAll(where: isMeant)
        return done.map { .answered($0.question, after: now - $0.sent) }
    }

    private mutating func unanswered(at now: Instant) -> [TraceEvent.Kind] {
        defer { (pings, requests) = ([], []) }
        // Of several unanswered pings, the first one is the start of the silence.
        let ping = pings.first.map { TraceEvent.Kind.unanswered(.ping, after: now - $0.sent) }
        return [ping].compactMap(\.self) + requests.map { .unanswered($0.question, after: now - $0.sent) }
    }
}
