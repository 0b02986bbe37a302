// SPDX-License-Identifier: Apache-2.0

/// How much of a log to read.
public struct LogLimit: Hashable, Sendable {
    /// The maximum number of lines.
    public var lines = 50
    /// The maximum number of bytes per line; the rest is cut off.
    public var lineBytes = 1_024
    /// The maximum number of bytes in total.
    public var bytes = 32 << 10
    /// The maximum time; what was read by then is the result.
    public var time = Duration.seconds(1)

    /// The limits of a crash report; change them as needed.
    public init() {}
}
