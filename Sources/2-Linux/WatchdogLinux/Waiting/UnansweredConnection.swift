// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A connection to an app that has not been answered yet, as far as it tells who should answer.
public struct UnansweredConnection: Hashable, Sendable {
    /// The inode of the socket that the app has accepted; nil if it is not known to have accepted one.
    public let accepted: UInt32?
    /// Where the app listens.
    public let address: NetworkAddress

    /// Describes a connection.
    public init(accepted: UInt32?, address: NetworkAddress) {
        self.accepted = accepted
        self.address = address
    }
}
