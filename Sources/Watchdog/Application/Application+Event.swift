// SPDX-License-Identifier: Apache-2.0

import WatchdogWire

extension Application {
    /// Something that the supervisor hands to the app to handle.
    public struct Event: Hashable, Sendable {
        /// What has happened, such as `url`.
        public let kind: String
        /// More about it in one line, whose meaning is between the sender and the app.
        public let payload: String

        /// Creates an event, as tests of a delegate need it.
        public init(kind: String, payload: String = "") {
            self.kind = kind
            self.payload = payload
        }

        init(_ event: SupervisorMessage.Event) {
            self.init(kind: event.kind, payload: event.payload)
        }
    }
}
