// SPDX-License-Identifier: Apache-2.0

/// The process of an app that should answer a connection, and its thread.
public struct ServingProcess: Hashable, Sendable {
    /// The process ID.
    public let id: Int32
    /// When it was created, in clock ticks since boot.
    public let startTime: UInt64
    /// The ID of the thread on which the answer depends; that of the process for its first one.
    public let thread: Int32
    /// Whether it has accepted the connection; if not, it listens.
    public let hasAccepted: Bool
}
