// SPDX-License-Identifier: Apache-2.0

/// A message of the channel protocol from the supervisor to the app.
///
/// One datagram may carry several keys; each counts once. Decoding follows the rules of ``NotifyMessage``.
///
/// An app is told of states, expirations and events only when it has said `LIFECYCLE=1`, see ``ClientMessage/Hello``. It heeds
/// everything on its main loop and in the order in which it was sent.
public struct SupervisorMessage: Hashable, Sendable {
    /// Where the app stands in front of its user.
    public enum Visibility: String, Hashable, Sendable, CaseIterable {
        /// The app serves somebody now.
        case foreground
        /// The app is out of sight and may soon be suspended.
        case background
    }

    /// The request to move to a state, `STATE` with `STATE_ID`.
    public struct Transition: Hashable, Sendable {
        /// `STATE`: where to.
        public var visibility: Visibility
        /// `STATE_ID`: counts the requests of one launch, from 1 upwards.
        ///
        /// The app answers ``ClientMessage/stateDone`` with it, so that a late answer is told from a timely one. A number
        /// that the app has heeded before is answered again and changes nothing.
        public var id: UInt64

        /// Creates a request.
        public init(to visibility: Visibility, id: UInt64) {
            self.visibility = visibility
            self.id = id
        }
    }

    /// Something for the app's main loop to handle, `EVENT` with `EVENT_ID` and `PAYLOAD`.
    public struct Event: Hashable, Sendable {
        /// `EVENT`: what has happened, such as `url`; at most ``Wire/Limit/name`` bytes.
        public var kind: String
        /// `EVENT_ID`: counts the events of one launch, from 1 upwards; the app answers ``ClientMessage/eventDone`` with it.
        public var id: UInt64
        /// `PAYLOAD`: one line of at most ``Wire/Limit/payload`` bytes, whose meaning is the app's affair.
        public var payload: String

        /// Creates an event.
        public init(kind: String, id: UInt64, payload: String = "") {
            self.kind = kind
            self.id = id
            self.payload = payload
        }
    }

    /// `PING`: the main loop is to answer with this nonce.
    public var ping: UInt64?
    /// `STATE`: the app moves to this state.
    public var transition: Transition?
    /// `BACKGROUND_USEC`: how long the app may go on in the background for its tasks, counted from now.
    ///
    /// It comes along with the state `background`, and alone whenever it has changed otherwise than by time passing.
    public var backgroundTime: Duration?
    /// `EXPIRE`: the time for background tasks is nearly over; expiration handlers are to run now.
    public var isExpiring = false
    /// `TERMINATE`: the app is to end; SIGTERM comes beside it.
    public var isTerminating = false
    /// `EVENT`: the main loop is to handle an event.
    public var event: Event?
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
    /// A state or event without its number is malformed; numbers and payload are dropped without what they belong to.
    ///
    /// - Parameter datagram: The bytes as received.
    public init(decoding datagram: some Collection<UInt8>) {
        let reader = FieldReader(datagram)
        var first = FirstAssignments()
        var (visibility, stateID): (Visibility?, UInt64?)
        var (kind, eventID, payload): (String?, UInt64?, String?)
        malformed = reader.malformed
        for field in reader.fields where first.admit(field.key) {
            switch field.key {
            case "PING": ping.take(field.number(), orCount: &malformed)
            case "STATE": visibility.take(Visibility(rawValue: field.text()), orCount: &malformed)
            case "STATE_ID": stateID.take(field.number(in: 1...UInt64.max), orCount: &malformed)
            case "BACKGROUND_USEC": backgroundTime.take(field.microseconds, orCount: &malformed)
            case "EXPIRE": field.raise(&isExpiring, orCount: &malformed)
            case "TERMINATE": field.raise(&isTerminating, orCount: &malformed)
            case "EVENT": kind = field.text(limit: Wire.Limit.name)
            case "EVENT_ID": eventID.take(field.number(in: 1...UInt64.max), orCount: &malformed)
            case "PAYLOAD": payload = field.text(limit: Wire.Limit.payload)
            default: unknown += 1
            }
        }
        if let visibility {
            transition.take(stateID.map { Transition(to: visibility, id: $0) }, orCount: &malformed)
        }
        if let kind {
            event.take(eventID.map { Event(kind: kind, id: $0, payload: payload ?? "") }, orCount: &malformed)
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
        writer.text("STATE", transition?.visibility.rawValue, limit: Wire.Limit.name)
        writer.number("STATE_ID", transition?.id)
        writer.microseconds("BACKGROUND_USEC", backgroundTime)
        writer.flag("EXPIRE", isExpiring)
        writer.flag("TERMINATE", isTerminating)
        writer.text("EVENT", event?.kind, limit: Wire.Limit.name)
        writer.number("EVENT_ID", event?.id)
        if let payload = event?.payload, !payload.isEmpty {
            writer.text("PAYLOAD", payload, limit: Wire.Limit.payload)
        }
        return writer.bytes
    }
}
