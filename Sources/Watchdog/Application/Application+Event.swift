// SPDX-License-Identifier: Apache-2.0

import WatchdogWire

extension Application {
    /// Something that the supervisor hands to the app to handle.
    public struct Event: Hashable, Sendable {
        /// The kind of the event, such as `url`.
        public let kind: String
        /// Details in one line, which only the sender and the app interpret.
        public let payload: String

        /// Creates an event, for tests of a delegate.
        public init(kind: String, payload: String = "") {
            self.kind = kind
            self.payload = payload
        }

        init(_ event: SupervisorMessage.Event) {
            self.init(kind: event.kind, payload: event.payload)
        }
    }
}
