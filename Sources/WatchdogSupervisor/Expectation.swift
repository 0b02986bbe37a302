// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What `watchdogd run --expect` demands of a run.
public enum Expectation: Hashable, Sendable, CustomStringConvertible {
    /// The app is killed, or only reported, under this code for this event; nil stands for any.
    case watchdog(TerminationCode, WatchdogEvent?)
    /// The app becomes ready; it is then asked to terminate.
    case ready
    /// The app ends by itself with this exit code.
    case exit(code: Int32)

    /// Why a text names no expectation.
    public struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence without a final stop.
        public let description: String
    }

    /// Reads `CODE`, `CODE:EVENT`, `ready` or `exit:N`; the codes are those of ``TerminationCode/all``.
    ///
    /// - Throws: ``SyntaxError`` that names the choices.
    public init(parsing text: String) throws(SyntaxError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts[0].lowercased(), parts.count > 1 ? parts[1] : nil) {
        case ("ready", nil):
            self = .ready
        case (let code, let name) where code.hasPrefix("0x"):
            guard let code = TerminationCode.all.first(where: { $0.hexadecimal == code }) else {
                let choices = TerminationCode.all.map(\.hexadecimal).joined(separator: ", ")
                throw SyntaxError(description: "unknown code \"\(parts[0])\"; use one of \(choices)")
            }
            guard let name else {
                self = .watchdog(code, nil)
                return
            }
            guard let event = WatchdogEvent(rawValue: name) else {
                let choices = WatchdogEvent.allCases.map(\.rawValue).joined(separator: ", ")
                throw SyntaxError(description: "unknown event \"\(name)\"; use one of \(choices)")
            }
            self = .watchdog(code, event)
        case ("exit", let code?):
            guard let value = Int32(code), (0...255).contains(value) else {
                throw SyntaxError(description: "\"\(code)\" is not an exit code; write exit:0 to exit:255")
            }
            self = .exit(code: value)
        default:
            throw SyntaxError(
                description: "cannot expect \"\(text)\"; use ready, exit:N or a code such as 0x8badf00d:EVENT")
        }
    }

    /// The expectation as it is written on the command line.
    public var description: String {
        switch self {
        case .watchdog(let code, let event): code.hexadecimal + (event.map { ":\($0.rawValue)" } ?? "")
        case .ready: "ready"
        case .exit(let code): "exit:\(code)"
        }
    }

    /// Whether a run that ended like this is what was expected.
    func isMet(by outcome: Outcome, incidents: [Incident], wasReady: Bool) -> Bool {
        switch self {
        case .watchdog(let code, let event):
            incidents.contains { $0.code == code && (event == nil || $0.event == event) }
        case .ready:
            wasReady
        case .exit(let code):
            outcome.status == .exited(code: code) && incidents.isEmpty
        }
    }
}
