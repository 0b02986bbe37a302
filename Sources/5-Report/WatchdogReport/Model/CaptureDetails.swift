// SPDX-License-Identifier: Apache-2.0

public import WatchdogVerdict

/// The method and the result of a capture.
public struct CaptureDetails: Codable, Equatable, Sendable {
    /// The method used.
    public var method: CapturedProcess.Method
    /// The reason why no better method was possible.
    public var methodReason: String?
    /// The time for which the process was stopped.
    public var frozenNanoseconds: UInt64
    /// Notes about missing data, with reasons.
    public var notes: [String]
}
