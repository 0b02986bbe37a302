// SPDX-License-Identifier: Apache-2.0

/// A connection to an app that has not been answered yet, as far as it tells who should answer.
public struct UnansweredConnection: Hashable, Sendable {
    /// The inode of the socket that the app has accepted; nil if it is not known to have accepted one.
    public let accepted: UInt32?
    /// Where the app listens.
    public let address: ListenAddress

    /// Describes a connection.
    public init(accepted: UInt32?, address: ListenAddress) {
        self.accepted = accepted
        self.address = address
    }
}

/// The process of an app that should answer a connection.
public struct ServingProcess: Hashable, Sendable {
    /// The process ID.
    public let id: Int32
    /// When it was created, in clock ticks since boot.
    public let startTime: UInt64
    /// Whether it has accepted the connection; if not, it listens.
    public let hasAccepted: Bool
}
