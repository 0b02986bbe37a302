// SPDX-License-Identifier: Apache-2.0

/// The event that an app is launched for: announced in its environment, and sent as soon as the launch is over.
public struct LaunchingEvent: Hashable, Sendable {
    /// What happened, such as `url`.
    public let kind: String
    /// Details, which only the app interprets.
    public let payload: String

    /// Creates an event; kind and payload are one line each.
    public init(kind: String, payload: String) {
        self.kind = kind
        self.payload = payload
    }

    /// The request that sends the event.
    public var request: LifecycleRequest { .event(kind: kind, payload: payload) }
}
