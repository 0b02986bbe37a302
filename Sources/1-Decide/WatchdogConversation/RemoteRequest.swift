// SPDX-License-Identifier: Apache-2.0

/// What a program that drives `watchdogd run` asks for: one line of text.
public enum RemoteRequest: Hashable, Sendable {
    /// Bring the app to the foreground; resumes a suspended app.
    case foreground
    /// Send the app to the background; resumes a suspended app.
    case background
    /// Suspend the app after a chance to clean up.
    case suspend
    /// Let a suspended app continue.
    case resume
    /// Have the main loop handle an event.
    case event(kind: String, payload: String)
    /// Inject a fault at once, written as after `watchdogd run --fault`.
    case fault(String)
    /// Ask the app to end, within its allowance.
    case terminate
    /// Kill the app at once.
    case kill

    /// The most bytes of a line, without its newline.
    public static let maximumLength = 4_096
    /// The most bytes of an event's kind and of its payload, as on the app's channel.
    private static let (kindLimit, payloadLimit) = (64, 2_048)

    private static let words: [String: RemoteRequest] = [
        "foreground": .foreground, "background": .background, "suspend": .suspend, "resume": .resume,
        "terminate": .terminate, "kill": .kill,
    ]

    /// Why a line is not a request.
    public struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence without a final period.
        public let description: String
    }

    /// Parses a line.
    public init(parsing line: some Collection<UInt8>) throws(SyntaxError) {
        guard line.count <= Self.maximumLength, let text = String(validating: line, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else {
            throw SyntaxError(
                description: "a request is a line of printable UTF-8 of at most \(Self.maximumLength) bytes")
        }
        if let request = Self.words[text] {
            self = request
            return
        }
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        if parts[0] == "fault" {
            self = .fault(parts.dropFirst().joined(separator: " "))
            return
        }
        guard parts[0] == "event" else {
            let known = (Self.words.keys.sorted() + ["event KIND [PAYLOAD]", "fault FAULT"]).joined(separator: ", ")
            throw SyntaxError(description: "'\(parts[0].prefix(32))' is not a request; use one of \(known)")
        }
        guard parts.count > 1, !parts[1].isEmpty else { throw SyntaxError(description: "event lacks a kind") }
        let payload = parts.count > 2 ? parts[2] : ""
        guard parts[1].utf8.count <= Self.kindLimit, payload.utf8.count <= Self.payloadLimit else {
            throw SyntaxError(
                description:
                    "an event has at most \(Self.kindLimit) bytes of kind and \(Self.payloadLimit) of payload")
        }
        self = .event(kind: parts[1], payload: payload)
    }

    /// The line, without its newline.
    public var line: String {
        switch self {
        case .foreground: "foreground"
        case .background: "background"
        case .suspend: "suspend"
        case .resume: "resume"
        case .event(let kind, let payload): "event \(kind)" + (payload.isEmpty ? "" : " \(payload)")
        case .fault(let fault): "fault \(fault)"
        case .terminate: "terminate"
        case .kill: "kill"
        }
    }
}
