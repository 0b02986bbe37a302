// SPDX-License-Identifier: Apache-2.0

/// How the stacks were taken.
public struct CaptureDetails: Codable, Equatable, Sendable {
    /// The way.
    public var method: CapturedProcess.Method
    /// Why no better one was possible.
    public var methodReason: String?
    /// For how long the process was stopped.
    public var frozenNanoseconds: UInt64
    /// What could not be had and why.
    public var notes: [String]
}
