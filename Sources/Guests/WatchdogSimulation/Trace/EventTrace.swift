// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// Reads the output of `watchdogd events --json`.
///
/// An event's facts are only in its message, with three digits.
enum EventTrace {
    static func read(
        _ first: FlatObject, _ lines: consuming TraceReader.Lines, _ app: String
    ) throws(TraceError) -> Trace {
        try TraceReader.history(first, lines, of: app, .events, keys: ("event.app", "event.timeUSec")) {
            object, lines, builder in
            if let missed = object.integer("missed"), missed > 0 {
                builder.note("\(lines.file): \(missed) events were lost before line \(lines.number)")
            }
        } add: {
            add($0, at: $1, &$2)
        }
    }

    private static func add(_ object: FlatObject, at time: Int64, _ builder: inout TraceBuilder) {
        let message = object.string("event.message") ?? ""
        switch object.string("event.kind") {
        case "launched": builder.add(.launched, at: time)
        case "adopted": builder.add(.adopted, at: time)
        case "ready": builder.add(.ready(source(in: message)), at: time)
        case "hung":
            if let span = span(in: message, after: "hung for ") { builder.add(.answered(.ping, after: span), at: time) }
        case "credited":
            if let span = span(in: message, after: "waited ") { builder.add(waitFor: span, at: time) }
        case "rebased":
            if let span = span(in: message, after: "did not run for ") {
                builder.add(.overslept(span), at: time)
            } else if let span = span(in: message, after: "was suspended for ") {
                builder.add(.machineResumed(span), at: time)
            }
        case "paused": builder.add(.paused(message.contains("traced") ? .traced(by: 1) : .stopped), at: time)
        case "resumed": builder.add(.resumed, at: time)
        case "probeFailed":
            guard let span = span(in: message, after: "after ") else { return }
            let isSilent = message.hasSuffix(": no answer")
            builder.add(.probed(isSilent ? .noAnswer : .ended(.failed("")), after: span), at: time)
        case "terminating": builder.add(.terminating(isRequested: !message.contains("says that")), at: time)
        case "exhausted":
            guard let event = message.split(separator: " ").first.flatMap({ WatchdogEvent(rawValue: String($0)) }),
                let allowance = span(in: message, after: " exhausted ")
            else {
                return builder.note("incidents other than exhausted allowances, such as failed probes, were left out")
            }
            builder.add(incident: event, allowance: allowance, isKill: true, at: time)
        case "exited":
            let code =
                message.hasPrefix("exited with code ") ? Int32(message.dropFirst("exited with code ".count)) : nil
            builder.add(.exited(code.map { .exited(code: $0) } ?? .unknown), at: time)
        default: break
        }
    }

    /// From "ready after 312 ms (notify)"; for an app that did not report it, the message has no parentheses.
    private static func source(in message: String) -> ReadinessSource {
        guard message.hasPrefix("ready after "),
            let word = message.split(separator: "(").last?.prefix(while: { $0 != ")" })
        else { return .assumed }
        return ReadinessSource(rawValue: String(word)) ?? .channel
    }

    /// The time span in a message after these words: "1.25 s" in "hung for 1.25 s".
    private static func span(in message: String, after words: String) -> Duration? {
        guard let start = message.firstRange(of: words)?.upperBound else { return nil }
        let text = message[start...].prefix { $0.isNumber || $0.isLetter || $0 == "." || $0 == " " || $0 == "µ" }
        let parts = text.split(separator: " ")
        // A number and its unit are one or two words; the rest of the message follows.
        for length in [4, 2, 1] {
            if let span = try? TimeSpan.parse(parts.prefix(length).joined(separator: " ")) { return span }
        }
        return nil
    }
}
