// SPDX-License-Identifier: Apache-2.0

/// How much of a log is read.
public struct LogLimit: Hashable, Sendable {
    /// The most lines.
    public var lines = 50
    /// The most bytes of one line; the rest is cut off.
    public var lineBytes = 1_024
    /// The most bytes in all.
    public var bytes = 32 << 10
    /// The longest time; what was read until then is the result.
    public var time = Duration.seconds(1)

    /// The limits of a crash report, to be changed as needed.
    public init() {}
}
