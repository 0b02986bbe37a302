// SPDX-License-Identifier: Apache-2.0

/// How the supervisor finds out by itself whether an app lives: `Probe=` and what belongs to it.
public struct ProbeSettings: Hashable, Sendable {
    /// What a probe does.
    public enum Target: Hashable, Sendable {
        /// `tcp:ADDR`, `unix:PATH`: connects.
        case connect(NetworkAddress)
        /// `http://…`: asks and looks at the answer.
        case http(HTTPProbe)
        /// `exec:CMD`: a command for `/bin/sh -c` that must exit with 0.
        case command(String)
    }

    /// What a probe does.
    public var target: Target
    /// From the start of one probe to the start of the next, which never begins before the one before has ended.
    public var interval: Duration = .seconds(3)
    /// The time that a probe may take.
    public var timeout: Duration = .seconds(3)
    /// So many failures in a row make a hang.
    public var threshold = 3

    /// Creates a probe with the default times.
    public init(_ target: Target) {
        self.target = target
    }
}
