// SPDX-License-Identifier: Apache-2.0

/// A message of the channel protocol from the supervisor to the app.
///
/// One datagram may carry several keys; each counts once. Decoding follows the rules of ``NotifyMessage``.
///
/// The app receives states, expirations and events only if it sent `LIFECYCLE=1`, see ``ClientMessage/Hello``. It handles
/// everything on its main loop, in the order in which it was sent.
public struct SupervisorMessage: Hashable, Sendable {
    /// Whether the app is visible to the user.
    public enum Visibility: String, Hashable, Sendable, CaseIterable {
        /// The app is in use.
        case foreground
        /// The app is not visible and may soon be suspended.
        case background
    }

    /// The request to move to a state, `STATE` with `STATE_ID`.
    public struct Transition: Hashable, Sendable {
        /// `STATE`: the new state.
        public var visibility: Visibility
        /// `STATE_ID`: counts the requests of one launch, from 1 upwards.
        ///
        /// The app returns it in ``ClientMessage/stateDone``, so that a late answer can be recognized. The app confirms
        /// a repeated number again, without any other effect.
        public var id: UInt64

        /// Creates a request; the number must be new in this launch.
        public init(to visibility: Visibility, id: UInt64) {
            self.visibility = visibility
            self.id = id
        }
    }

    /// An event for the app's main loop, `EVENT` with `EVENT_ID`, `PAYLOAD` and `EVENT_FROM`.
    public struct Event: Hashable, Sendable {
        /// `EVENT`: the kind, such as `url`; at most ``Wire/Limit/name`` bytes.
        public var kind: String
        /// `EVENT_ID`: counts the events of one launch, from 1 upwards; the app returns it in
        /// ``ClientMessage/eventDone``.
        public var id: UInt64
        /// `PAYLOAD`: one line of at most ``Wire/Limit/payload`` bytes, whose meaning the app defines.
        public var payload: String
        /// `EVENT_FROM`: the app that asked for the event, at most ``Wire/Limit/name`` bytes; nil if none did.
        public var sender: String?

        /// Creates an event; the number must be new in this launch.
        public init(kind: String, id: UInt64, payload: String = "", sender: String? = nil) {
            self.kind = kind
            self.id = id
            self.payload = payload
            self.sender = sender
        }
    }

    /// `PING`: the main loop must answer with this nonce.
    public var ping: UInt64?
    /// `STATE`: the app must move to this state.
    public var transition: Transition?
    /// `BACKGROUND_USEC`: how long the app may continue its tasks in the background, from now.
    ///
    /// It accompanies the state `background`, and is sent alone if it changes for any reason other than time passing.
    public var backgroundTime: Duration?
    /// `EXPIRE`: the time for background tasks is nearly over; expiration handlers must run now.
    public var isExpiring = false
    /// `TERMINATE`: the app must exit; SIGTERM is sent as well.
    public var isTerminating = false
    /// `EVENT`: the main loop must handle an event.
    public var event: Event?
    /// `HANG_USEC`: the app must block its main loop for this long, as a test; sent only after `FAULTS=1`.
    public var hang: Duration?
    /// The number of lines that were dropped because they were not assignments or had an invalid value.
    public var malformed = 0
    /// The number of different unknown keys.
    public var unknown = 0

    /// Creates an empty message.
    public init() {}

    /// Creates a ping, which the app answers with the same nonce.
    public init(ping nonce: UInt64) {
        ping = nonce
    }
}

// MARK: - Decoding

extension SupervisorMessage {
    /// Decodes a datagram; never fails, but counts unusable lines.
    ///
    /// A state or event without its number is malformed; a number or payload without its state or event is dropped.
    ///
    /// - Parameter datagram: The bytes as received.
    public init(decoding datagram: some Collection<UInt8>) {
        let reader = FieldReader(datagram)
        var first = FirstAssignments()
        var (visibility, stateID): (Visibility?, UInt64?)
        var (kind, eventID, payload, sender): (String?, UInt64?, String?, String?)
        malformed = reader.malformed
        for field in reader.fields where first.admit(field.key) {
            switch field.key {
            case "PING": ping.take(field.number(), orCount: &malformed)
            case "STATE": visibility.take(Visibility(rawValue: field.text()), orCount: &malformed)
            case "STATE_ID": stateID.take(field.number(in: 1...UInt64.max), orCount: &malformed)
            case "BACKGROUND_USEC": backgroundTime.take(field.microseconds, orCount: &malformed)
            case "EXPIRE": field.raise(&isExpiring, orCount: &malformed)
            case "TERMINATE": field.raise(&isTerminating, orCount: &malformed)
            case "HANG_USEC": hang.take(field.microseconds, orCount: &malformed)
            case "EVENT": kind = field.text(limit: Wire.Limit.name)
            case "EVENT_ID": eventID.take(field.number(in: 1...UInt64.max), orCount: &malformed)
            case "PAYLOAD": payload = field.text(limit: Wire.Limit.payload)
            case "EVENT_FROM": sender = field.text(limit: Wire.Limit.name)
            default: unknown += 1
            }
        }
        if let visibility {
            transition.take(stateID.map { Transition(to: visibility, id: $0) }, orCount: &malformed)
        }
        if let kind {
            let sender = sender.flatMap { $0.isEmpty ? nil : $0 }
            event.take(
                eventID.map { Event(kind: kind, id: $0, payload: payload ?? "", sender: sender) }, orCount: &malformed)
        }
    }
}

// MARK: - Encoding

extension SupervisorMessage {
    /// The datagram to send, at most ``Wire/Limit/datagram`` bytes; empty if the message is empty.
    ///
    /// An empty datagram looks like the end of the channel to the receiver and must not be sent.
    public var datagram: [UInt8] {
        var writer = FieldWriter()
        writer.number("PING", ping)
        writer.text("STATE", transition?.visibility.rawValue, limit: Wire.Limit.name)
        writer.number("STATE_ID", transition?.id)
        writer.microseconds("BACKGROUND_USEC", backgroundTime)
        writer.flag("EXPIRE", isExpiring)
        writer.flag("TERMINATE", isTerminating)
        writer.microseconds("HANG_USEC", hang)
        writer.text("EVENT", event?.kind, limit: Wire.Limit.name)
        writer.number("EVENT_ID", event?.id)
        if let payload = event?.payload, !payload.isEmpty {
            writer.text("PAYLOAD", payload, limit: Wire.Limit.payload)
        }
        writer.text("EVENT_FROM", event?.sender, limit: Wire.Limit.name)
        return writer.bytes
    }
}
