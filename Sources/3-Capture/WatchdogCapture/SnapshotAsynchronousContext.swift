// SPDX-License-Identifier: Apache-2.0

/// Two words of memory that may be the start of one of Swift's asynchronous contexts, because the second one points
/// into code.
public struct SnapshotAsynchronousContext: Sendable, Equatable {
    /// The address of the words.
    public var address: UInt64
    /// The address of the caller's context, or 0.
    public var parent: UInt64
    /// The address at which the caller resumes.
    public var resume: UInt64
}
