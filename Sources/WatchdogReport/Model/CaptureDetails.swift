// SPDX-License-Identifier: Apache-2.0

public import WatchdogVerdict

/// How the stacks were captured.
public struct CaptureDetails: Codable, Equatable, Sendable {
    /// The method used.
    public var method: CapturedProcess.Method
    /// Why no better method was possible.
    public var methodReason: String?
    /// How long the process was stopped.
    public var frozenNanoseconds: UInt64
    /// What is missing, and why.
    public var notes: [String]
}
