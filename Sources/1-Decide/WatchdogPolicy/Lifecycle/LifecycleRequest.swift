// SPDX-License-Identifier: Apache-2.0

/// A request to a running app.
///
/// The latest request counts: an app that should be suspended first goes to the background, and turns around if it is
/// requested in the foreground in the meantime. Requests during the launch wait for its end.
public enum LifecycleRequest: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Serve somebody; resumes a suspended app.
    case foreground
    /// Go to the background; resumes a suspended app.
    case background
    /// Stop running, after a chance to clean up.
    case suspend
    /// Continue where it was suspended: in the background, if it takes part in the lifecycle.
    case resume
    /// Handle an event on the main loop; `sender` is the app that asks for it.
    case event(kind: String, payload: String, sender: String? = nil)

    private enum CodingKeys: String, CodingKey { case foreground, background, suspend, resume, event }
    private enum EventCodingKeys: String, CodingKey { case kind, payload, sender }

    /// The request in one or two words.
    public var description: String {
        switch self {
        case .foreground: "foreground"
        case .background: "background"
        case .suspend: "suspend"
        case .resume: "resume"
        case .event(let kind, _, _): "event \(kind)"
        }
    }
}

/// Why a request was refused.
public enum LifecycleRefusal: Hashable, Sendable {
    /// There is no process, or it is ending.
    case notRunning
    /// The program does not take part in the lifecycle, so nobody would handle the event.
    case notTakingPart
    /// The app is suspended, or about to be.
    case alreadySuspended
    /// The app is not suspended.
    case notSuspended
    /// Too many events are waiting to be handled.
    case tooManyEvents
}

/// The event that an app is launched for: announced in its environment, and sent as soon as the launch is over.
public struct LaunchingEvent: Hashable, Sendable {
    /// What happened, such as `url`.
    public let kind: String
    /// Details, which only the app interprets.
    public let payload: String
    /// The app that asks for it; nil if no app of the same supervisor does.
    public let sender: String?

    /// Creates an event; kind, payload and sender are one line each.
    public init(kind: String, payload: String, sender: String? = nil) {
        self.kind = kind
        self.payload = payload
        self.sender = sender
    }

    /// The request that sends the event.
    public var request: LifecycleRequest { .event(kind: kind, payload: payload, sender: sender) }
}
