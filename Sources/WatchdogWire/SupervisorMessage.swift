// SPDX-License-Identifier: Apache-2.0

/// A message of the channel protocol from the supervisor to the app.
///
/// One datagram may carry several keys; each counts once. Decoding follows the rules of ``NotifyMessage``.
public struct SupervisorMessage: Hashable, Sendable {
    /// Where the app stands in front of its user.
    public enum Visibility: String, Hashable, Sendable, CaseIterable {
        /// The app serves somebody now.
        case foreground
        /// The app is out of sight and may soon be suspended.
        case background
    }

    /// `PING`: the main loop is to answer with this nonce.
    public var ping: UInt64?
    /// `STATE`: the app moves to this state.
    public var visibility: Visibility?
    /// `EXPIRE`: the time for background tasks is nearly over; expiration handlers are to run now.
    public var isExpiring = false
    /// `TERMINATE`: the app is to end; SIGTERM comes beside it.
    public var isTerminating = false
    /// `EVENT`: the main loop is to handle an event of this kind.
    public var event: String?
    /// How many lines were dropped because they were no assignment or had an unusable value.
    public var malformed = 0
    /// How many different keys were not known.
    public var unknown = 0

    /// Creates a message that says nothing.
    public init() {}

    /// Creates a ping.
    public init(ping nonce: UInt64) {
        ping = nonce
    }
}

// MARK: - Decoding

extension SupervisorMessage {
    /// Decodes a datagram; never fails, what cannot be used is counted.
    ///
    /// - Parameter datagram: The bytes as received.
    public init(decoding datagram: some Collection<UInt8>) {
        let reader = FieldReader(datagram)
        var first = FirstAssignments()
        malformed = reader.malformed
        for field in reader.fields where first.admit(field.key) {
            switch field.key {
            case "PING": ping.take(field.number(), orCount: &malformed)
            case "STATE": visibility.take(Visibility(rawValue: field.text()), orCount: &malformed)
            case "EXPIRE": field.raise(&isExpiring, orCount: &malformed)
            case "TERMINATE": field.raise(&isTerminating, orCount: &malformed)
            case "EVENT": event = field.text(limit: Wire.Limit.name)
            default: unknown += 1
            }
        }
    }
}

// MARK: - Encoding

extension SupervisorMessage {
    /// The datagram to send, at most ``Wire/Limit/datagram`` bytes; empty when the message says nothing.
    ///
    /// An empty datagram looks like the end of the channel to the receiver and must not be sent.
    public var datagram: [UInt8] {
        var writer = FieldWriter()
        writer.number("PING", ping)
        writer.text("STATE", visibility?.rawValue, limit: Wire.Limit.name)
        writer.flag("EXPIRE", isExpiring)
        writer.flag("TERMINATE", isTerminating)
        writer.text("EVENT", event, limit: Wire.Limit.name)
        return writer.bytes
    }
}
