// SPDX-License-Identifier: Apache-2.0

/// Two words of memory that may begin one of Swift's asynchronous contexts, because the second points into code.
public struct SnapshotAsynchronousContext: Sendable, Equatable {
    /// Where they were.
    public var address: UInt64
    /// The caller's context, or 0.
    public var parent: UInt64
    /// Where the caller goes on.
    public var resume: UInt64
}
