// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// Reads watchdogd's entries from the output of `journalctl -o json`.
enum JournalTrace {
    static func read(
        _ first: FlatObject, _ lines: consuming TraceReader.Lines, _ app: String
    ) throws(TraceError) -> Trace {
        try TraceReader.history(
            first, lines, of: app, .journal, keys: ("WATCHDOGD_APP", "__REALTIME_TIMESTAMP")
        ) { add($0, at: $1, &$2) }
    }

    private static func add(_ entry: FlatObject, at time: Int64, _ builder: inout TraceBuilder) {
        let span = entry.integer("WATCHDOGD_DURATION_USEC").flatMap(Duration.init(traced:))
        let message = entry.string("MESSAGE") ?? ""
        switch (entry.string("WATCHDOGD_KIND"), span) {
        case ("launched", _): builder.add(.launched, at: time)
        case ("adopted", _): builder.add(.adopted, at: time)
        case ("ready", _):
            let source = entry.string("WATCHDOGD_SOURCE").flatMap(ReadinessSource.init(rawValue:))
            builder.add(.ready(source ?? .channel), at: time)
        case ("hung", let span?): builder.add(.answered(.ping, after: span), at: time)
        case ("credited", let span?): builder.add(waitFor: span, at: time)
        case ("overslept", let span?): builder.add(.overslept(span), at: time)
        case ("machineResumed", let span?): builder.add(.machineResumed(span), at: time)
        case ("paused", _):
            builder.add(.paused(entry.has("WATCHDOGD_TRACER_PID") ? .traced(by: 1) : .stopped), at: time)
        case ("resumed", _): builder.add(.resumed, at: time)
        case ("extended", _): builder.note("the journal does not say how much time the app asked for")
        case ("probeFailed", let span?):
            let isSilent = message.hasSuffix(": no answer")
            builder.add(.probed(isSilent ? .noAnswer : .ended(.failed("")), after: span), at: time)
        case ("terminating", _):
            builder.add(.terminating(isRequested: !message.contains("says that")), at: time)
        case ("killed", _), ("reported", _):
            guard let event = entry.string("WATCHDOGD_EVENT").flatMap(WatchdogEvent.init(rawValue:)),
                let allowance = entry.integer("WATCHDOGD_ALLOWANCE_USEC").flatMap(Duration.init(traced:))
            else { return }
            builder.add(
                incident: event, allowance: allowance, isKill: entry.string("WATCHDOGD_KIND") == "killed", at: time,
                isLate: true)
        case ("exited", _):
            let number = entry.integer("EXIT_STATUS").flatMap(Int32.init(exactly:))
            switch (entry.string("EXIT_CODE"), number) {
            case ("exited", let code?): builder.add(.exited(.exited(code: code)), at: time)
            case (_, let signal?): builder.add(.exited(.signaled(signal: signal, coreDumped: false)), at: time)
            default: builder.add(.exited(.unknown), at: time)
            }
        default: break
        }
    }
}

extension Duration {
    /// Creates a duration from a file; nil if it is negative or implausibly large.
    init?(traced microseconds: Int64) {
        guard microseconds >= 0, microseconds <= TraceEvent.longest.wholeMicroseconds else { return nil }
        self = .microseconds(microseconds)
    }
}

extension TraceError {
    /// The error for a file without entries about the app.
    public static func nothing(about app: String, _ others: Set<String>, in file: String) -> TraceError {
        let names = others.sorted().prefix(5).map { $0.singleLine(limit: 64) }.joined(separator: ", ")
        return TraceError(
            "has nothing about \(app)" + (names.isEmpty ? "" : "; it is about \(names)"), in: file)
    }
}
