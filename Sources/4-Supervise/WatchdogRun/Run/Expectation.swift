// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogPolicy

/// A condition of `watchdogd run --expect`.
public enum Expectation: Hashable, Sendable, CustomStringConvertible {
    /// A moment of a launch.
    public enum Moment: String, CaseIterable, Sendable {
        /// The app reports that it is ready.
        case ready
        /// The app reports its first frame.
        case firstFrame = "first-frame"
        /// The app reports that it does its actual work.
        case useful
    }

    /// The app is killed or reported with this code for this event; nil stands for any event.
    case reported(TerminationCode, WatchdogEvent?)
    /// The app is killed with this code for this event; nil stands for any event.
    case killed(TerminationCode, WatchdogEvent?)
    /// The launch reaches a moment, within the limit if there is one.
    case reached(Moment, within: Duration?)
    /// The app exits by itself with this code.
    case exit(code: Int32)
    /// No answer takes longer than this; nil stands for the threshold of hangs.
    case noHang(over: Duration?)
    /// No incident is reported.
    case noIncident
    /// A function on the stack of the last report's thread has a name that contains this text.
    case frame(String)
    /// The verdict of the last report contains this text.
    case verdict(String)
    /// The wait of the last report's thread contains this text; `tcp:`, `udp:`, `unix:` and `pipe:` match descriptors
    /// of that kind.
    case blocked(on: String)

    /// A syntax error in an expectation.
    public struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence without a period.
        public let description: String
    }

    /// Parses one condition; the codes are those of ``TerminationCode/all``.
    ///
    /// - Throws: ``SyntaxError``, which lists the choices.
    public init(parsing text: String) throws(SyntaxError) {
        let words = text.split(separator: " ").map(String.init)
        switch (words.first ?? "", Array(words.dropFirst())) {
        case ("no", ["incident"]): self = .noIncident
        case ("no", ["hang"]): self = .noHang(over: nil)
        case ("no", let words) where words.count > 2 && words.starts(with: ["hang", "over"]):
            self = .noHang(over: try Self.span(words.dropFirst(2).joined(separator: " ")))
        case ("frame", let name) where !name.isEmpty: self = .frame(Self.unquoted(name))
        case ("verdict", let words) where !words.isEmpty: self = .verdict(Self.unquoted(words))
        case ("blocked", let words) where words.count > 1 && words[0] == "on":
            self = .blocked(on: Self.unquoted(Array(words.dropFirst())))
        case ("killed", let words) where words.count == 1:
            let (code, event) = try Self.incident(words[0])
            self = .killed(code, event)
        case (let name, []) where name.lowercased().hasPrefix("0x"):
            let (code, event) = try Self.incident(name)
            self = .reported(code, event)
        case (let name, []) where name.lowercased().hasPrefix("exit:"):
            guard let value = Int32(name.dropFirst(5)), (0...255).contains(value) else {
                throw SyntaxError(description: "\"\(name.dropFirst(5))\" is not an exit code; write exit:0 to exit:255")
            }
            self = .exit(code: value)
        case (let name, let limit) where Moment(rawValue: name.lowercased()) != nil:
            let span = limit.dropFirst().joined(separator: " ")
            guard let moment = Moment(rawValue: name.lowercased()), limit.first ?? "within" == "within",
                limit.isEmpty || !span.isEmpty
            else { throw SyntaxError(description: "cannot expect \"\(text)\"; write \"\(name) within 400ms\"") }
            // Only readiness has an allowance: waiting for another moment without a limit might never end.
            guard moment == .ready || !limit.isEmpty else {
                throw SyntaxError(description: "\"\(text)\" has no limit; write \"\(name) within 400ms\"")
            }
            self = .reached(moment, within: limit.isEmpty ? nil : try Self.span(span))
        default:
            throw SyntaxError(
                description:
                    "cannot expect \"\(text)\"; use ready, exit:N or a code such as 0x8badf00d:EVENT, or \"ready within "
                    + "400ms\", \"no hang over 250ms\", \"no incident\", \"killed 0x8badf00d\", \"frame NAME\", "
                    + "\"blocked on TEXT\", \"verdict TEXT\"")
        }
    }

    private static func span(_ text: String) throws(SyntaxError) -> Duration {
        do {
            return try TimeSpan.parse(text)
        } catch {
            throw SyntaxError(description: error.description)
        }
    }

    private static func incident(_ text: String) throws(SyntaxError) -> (TerminationCode, WatchdogEvent?) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let code = TerminationCode.all.first(where: { $0.hexadecimal == parts[0].lowercased() }) else {
            let choices = TerminationCode.all.map(\.hexadecimal).joined(separator: ", ")
            throw SyntaxError(description: "unknown code \"\(parts[0])\"; use one of \(choices)")
        }
        guard parts.count > 1 else { return (code, nil) }
        guard let event = WatchdogEvent(rawValue: parts[1]) else {
            let choices = WatchdogEvent.allCases.map(\.rawValue).joined(separator: ", ")
            throw SyntaxError(description: "unknown event \"\(parts[1])\"; use one of \(choices)")
        }
        return (code, event)
    }

    /// The words joined into a text, without surrounding quotation marks.
    private static func unquoted(_ words: [String]) -> String {
        let text = words.joined(separator: " ")
        guard text.count > 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        return String(text.dropFirst().dropLast())
    }

    /// The expectation as it is written on the command line.
    public var description: String {
        switch self {
        case .reported(let code, let event): Self.text(code, event)
        case .killed(let code, let event): "killed \(Self.text(code, event))"
        case .reached(let moment, let limit): moment.rawValue + (limit.map { " within \(TimeSpan.format($0))" } ?? "")
        case .exit(let code): "exit:\(code)"
        case .noHang(let limit): "no hang" + (limit.map { " over \(TimeSpan.format($0))" } ?? "")
        case .noIncident: "no incident"
        case .frame(let name): "frame \(name)"
        case .verdict(let text): "verdict \(text)"
        case .blocked(let text): "blocked on \(text)"
        }
    }

    private static func text(_ code: TerminationCode, _ event: WatchdogEvent?) -> String {
        code.hexadecimal + (event.map { ":\($0.rawValue)" } ?? "")
    }
}
