// SPDX-License-Identifier: Apache-2.0

/// The faulting thread's queue or name, for older readers.
public struct LegacyInfo: Codable, Equatable, Sendable {
    /// A thread by queue or name.
    public struct Thread: Codable, Equatable, Sendable {
        /// The dispatch queue.
        public var queue: String?
        /// The thread's name.
        public var name: String?

        /// Creates the values.
        public init(queue: String? = nil, name: String? = nil) {
            self.queue = queue
            self.name = name
        }
    }

    /// The faulting thread.
    public var threadTriggered: Thread?

    /// Creates the values.
    public init(threadTriggered: Thread?) {
        self.threadTriggered = threadTriggered
    }
}
