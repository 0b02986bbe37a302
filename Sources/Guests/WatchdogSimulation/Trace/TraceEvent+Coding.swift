// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

extension TraceEvent {
    struct LineError: Error {
        /// The error: one sentence without a period.
        let description: String
    }

    /// The maximum duration of a trace: 400 days, like the launch history.
    static let longest: Duration = .seconds(400 * 86_400)

    private static let names = [
        "launched", "adopted", "hello", "joined", "notified", "ready", "answered", "unanswered", "pushed",
        "pushInterval", "triggered", "extended", "probed", "stopped", "continued", "paused", "resumed", "overslept",
        "machineResumed", "used", "examined", "requested", "taskBegan", "taskEnded", "terminating", "incident",
        "exited",
    ]

    // MARK: - Writing

    /// The event as one line of a trace, without a newline.
    public var line: String {
        var line = "{\"atUSec\":\(at.wholeMicroseconds),\"event\":\"\(name)\""
        for (key, value) in members { line += ",\"\(key)\":\(value)" }
        return line + "}"
    }

    private var name: String {
        switch kind {
        case .launched: "launched"
        case .adopted: "adopted"
        case .hello: "hello"
        case .joined: "joined"
        case .notified: "notified"
        case .ready: "ready"
        case .answered: "answered"
        case .unanswered: "unanswered"
        case .pushed: "pushed"
        case .pushIntervalChanged: "pushInterval"
        case .triggered: "triggered"
        case .extensionRequested: "extended"
        case .probed: "probed"
        case .stopped: "stopped"
        case .continued: "continued"
        case .paused: "paused"
        case .resumed: "resumed"
        case .overslept: "overslept"
        case .machineResumed: "machineResumed"
        case .used: "used"
        case .examined: "examined"
        case .requested: "requested"
        case .taskBegan: "taskBegan"
        case .taskEnded: "taskEnded"
        case .terminating: "terminating"
        case .incident: "incident"
        case .exited: "exited"
        }
    }

    private var members: [(key: String, value: String)] {
        switch kind {
        case .launched, .adopted, .hello, .joined, .notified, .pushed, .triggered, .stopped, .continued, .resumed:
            []
        case .ready(let source): [("source", source.rawValue.jsonString)]
        case .answered(let question, let after), .unanswered(let question, let after):
            [("to", question.rawValue.jsonString), ("afterUSec", after.digits)]
        case .pushIntervalChanged(let span), .overslept(let span), .machineResumed(let span):
            [("forUSec", span.digits)]
        case .extensionRequested(let span, let progress):
            [("forUSec", span.digits)] + (progress.map { [("progress", $0.jsonString)] } ?? [])
        case .probed(let probe, let after): probe.members + [("afterUSec", after.digits)]
        case .paused(let pause): [("by", pause.word.jsonString)]
        case .used(let cpu, let waiting): [("cpuUSec", cpu.digits), ("waitUSec", waiting.digits)]
        case .examined(let waiting): [("waitUSec", waiting.digits)]
        case .requested(.event(let name, _, _)): [("request", "event".jsonString), ("kind", name.jsonString)]
        case .requested(let request): [("request", request.description.jsonString)]
        case .taskBegan(let id, let name): [("id", "\(id)"), ("name", name.jsonString)]
        case .taskEnded(let id): [("id", "\(id)")]
        case .terminating(let isRequested): [("isRequested", "\(isRequested)")]
        case .incident(let event, let allowance, let elapsed, let isKill):
            [
                ("watched", event.rawValue.jsonString), ("allowanceUSec", allowance.digits),
                ("afterUSec", elapsed.digits),
                ("isKill", "\(isKill)"),
            ]
        case .exited(.exited(let code)): [("code", "\(code)")]
        case .exited(.signaled(let signal, _)): [("signal", "\(signal)")]
        case .exited(.unknown): []
        }
    }

    // MARK: - Reading

    /// Reads one line; nil for an event that a later version has added.
    init?(_ object: FlatObject) throws(LineError) {
        guard let name = object.string("event") else { throw LineError(description: "has no \"event\"") }
        guard Self.names.contains(name) else {
            guard let near = Similarity.nearest(to: name, among: Self.names) else { return nil }
            throw LineError(description: "has the unknown event \"\(name.bounded)\"; did you mean \"\(near)\"?")
        }
        self.init(at: try object.span("atUSec"), try Self.kind(name, object))
    }

    private static func kind(_ name: String, _ object: FlatObject) throws(LineError) -> Kind {
        switch name {
        case "launched": .launched
        case "adopted": .adopted
        case "hello": .hello
        case "joined": .joined
        case "notified": .notified
        case "ready": .ready(try object.choice("source"))
        case "answered": .answered(try object.choice("to"), after: try object.span("afterUSec"))
        case "unanswered": .unanswered(try object.choice("to"), after: try object.span("afterUSec"))
        case "pushed": .pushed
        case "pushInterval": .pushIntervalChanged(try object.span("forUSec"))
        case "triggered": .triggered
        case "extended": .extensionRequested(by: try object.span("forUSec"), progress: object.string("progress"))
        case "probed": .probed(try Probe(object), after: try object.span("afterUSec"))
        case "stopped": .stopped
        case "continued": .continued
        case "paused": .paused(try Pause(object))
        case "resumed": .resumed
        case "overslept": .overslept(try object.span("forUSec"))
        case "machineResumed": .machineResumed(try object.span("forUSec"))
        case "used": .used(cpu: try object.span("cpuUSec"), waiting: try object.span("waitUSec"))
        case "examined": .examined(waiting: try object.span("waitUSec"))
        case "requested": .requested(try LifecycleRequest(object))
        case "taskBegan": .taskBegan(id: try object.identifier, name: object.string("name") ?? "")
        case "taskEnded": .taskEnded(id: try object.identifier)
        case "terminating": .terminating(isRequested: object.boolean("isRequested") ?? true)
        case "incident":
            .incident(
                try object.choice("watched"), allowance: try object.span("allowanceUSec"),
                elapsed: try object.span("afterUSec"), isKill: object.boolean("isKill") ?? true)
        default: .exited(ExitStatus(object))
        }
    }
}

extension TraceEvent.Probe {
    fileprivate var members: [(key: String, value: String)] {
        switch self {
        case .ended(.answered): [("result", "answered".jsonString)]
        case .ended(.failed(let reason)): [("result", "failed".jsonString), ("reason", reason.jsonString)]
        case .ended(.impossible(let reason)): [("result", "impossible".jsonString), ("reason", reason.jsonString)]
        case .noAnswer: [("result", "noAnswer".jsonString)]
        }
    }

    fileprivate init(_ object: FlatObject) throws(TraceEvent.LineError) {
        let reason = object.string("reason") ?? ""
        switch object.string("result") {
        case "answered": self = .ended(.answered)
        case "failed": self = .ended(.failed(reason))
        case "impossible": self = .ended(.impossible(reason))
        case "noAnswer": self = .noAnswer
        default: throw TraceEvent.LineError(description: "needs \"result\": answered, failed, impossible or noAnswer")
        }
    }
}

extension Pause {
    fileprivate var word: String {
        switch self {
        case .traced: "debugger"
        case .stopped: "signal"
        case .frozen: "freezer"
        case .dumpingCore: "core"
        }
    }

    fileprivate init(_ object: FlatObject) throws(TraceEvent.LineError) {
        switch object.string("by") {
        // The tracer's process ID is irrelevant for the replay.
        case "debugger": self = .traced(by: 1)
        case "signal": self = .stopped
        case "freezer": self = .frozen
        case "core": self = .dumpingCore
        default: throw TraceEvent.LineError(description: "needs \"by\": debugger, signal, freezer or core")
        }
    }
}

extension LifecycleRequest {
    fileprivate init(_ object: FlatObject) throws(TraceEvent.LineError) {
        switch object.string("request") {
        case "foreground": self = .foreground
        case "background": self = .background
        case "suspend": self = .suspend
        case "resume": self = .resume
        case "event": self = .event(kind: object.string("kind") ?? "", payload: "")
        default:
            throw TraceEvent.LineError(
                description: "needs \"request\": foreground, background, suspend, resume or event")
        }
    }
}

extension ExitStatus {
    fileprivate init(_ object: FlatObject) {
        if let code = object.integer("code").flatMap(Int32.init(exactly:)) {
            self = .exited(code: code)
        } else if let signal = object.integer("signal").flatMap(Int32.init(exactly:)) {
            self = .signaled(signal: signal, coreDumped: false)
        } else {
            self = .unknown
        }
    }
}

extension FlatObject {
    fileprivate func span(_ key: String) throws(TraceEvent.LineError) -> Duration {
        guard has(key) else { throw TraceEvent.LineError(description: "has no \"\(key)\"") }
        guard let number = integer(key), number >= 0, number <= TraceEvent.longest.wholeMicroseconds else {
            throw TraceEvent.LineError(
                description: "needs a whole number of microseconds as \"\(key)\", at most 400 days")
        }
        return .microseconds(number)
    }

    fileprivate func choice<Value: RawRepresentable<String>>(_ key: String) throws(TraceEvent.LineError) -> Value {
        guard let text = string(key) else { throw TraceEvent.LineError(description: "has no \"\(key)\"") }
        guard let value = Value(rawValue: text) else {
            throw TraceEvent.LineError(description: "has an unknown \"\(key)\": \"\(text.bounded)\"")
        }
        return value
    }

    fileprivate var identifier: UInt64 {
        get throws(TraceEvent.LineError) {
            guard let number = integer("id"), number >= 0 else {
                throw TraceEvent.LineError(description: "needs a number as \"id\"")
            }
            return UInt64(number)
        }
    }
}

extension Duration {
    fileprivate var digits: String { "\(max(.zero, self).wholeMicroseconds)" }
}

extension String {
    /// At most 64 characters, which are safe for terminals.
    fileprivate var bounded: String { singleLine(limit: 64) }
}
